#include "serve/grpc/block_pool.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/sanitizers.h"

namespace weir::grpc {
namespace {

constexpr std::size_t kStep = 64;  // sizes are its multiples
constexpr std::size_t kSizes = 16;
constexpr std::size_t kLargest = kStep * kSizes;

// Stands before the bytes that are handed out.
struct alignas(16) Block {
  std::size_t room = 0;  // bytes behind it
  Block* next = nullptr;

  void* bytes() { return this + 1; }
  static Block* of(void* bytes) { return static_cast<Block*>(bytes) - 1; }
};

// WHY two objects: blocks may still be given back when those of the thread that have destructors
// are gone, and then find plain pointers that say so.
struct Lists {
  std::array<Block*, kSizes> free;
  std::size_t held;  // bytes
  bool over;
};
constinit thread_local Lists lists{};

struct Cleaner {
  ~Cleaner() {
    lists.over = true;
    for (Block*& first : lists.free) {
      while (first != nullptr) std::free(std::exchange(first, first->next));
    }
  }
};

Block* allocate(std::size_t room) {
  void* const space = std::malloc(sizeof(Block) + room);
  if (space == nullptr) return nullptr;
  return new (space) Block{room, nullptr};
}

void* take(std::size_t size, void*) {
  if (size > SIZE_MAX - kLargest) return nullptr;
  const std::size_t place = (std::max<std::size_t>(size, 1) - 1) / kStep;
  if (place >= kSizes) {
    Block* const block = allocate(size);
    return block == nullptr ? nullptr : block->bytes();
  }
  Block* block = lists.free[place];
  if (block != nullptr) {
    lists.free[place] = block->next;
    lists.held -= block->room;
  } else {
    block = allocate((place + 1) * kStep);
  }
  return block == nullptr ? nullptr : block->bytes();
}

void give_back(void* bytes, void*) {
  if (bytes == nullptr) return;
  Block* const block = Block::of(bytes);
  if (block->room > kLargest || lists.over || lists.held + block->room > kMaxHeldBytes) {
    return std::free(block);
  }
  static thread_local Cleaner cleaner;
  (void)cleaner;
  Block*& first = lists.free[block->room / kStep - 1];
  block->next = first;
  first = block;
  lists.held += block->room;
}

void* take_zeroed(std::size_t count, std::size_t size, void*) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* const bytes = take(count * size, nullptr);
  if (bytes != nullptr) std::memset(bytes, 0, count * size);
  return bytes;
}

void* resize(void* bytes, std::size_t size, void*) {
  if (bytes == nullptr) return take(size, nullptr);
  const std::size_t room = Block::of(bytes)->room;
  if (size <= room) return bytes;
  void* const larger = take(size, nullptr);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, bytes, room);
  give_back(bytes, nullptr);
  return larger;
}

}  // namespace

nghttp2_mem* block_pool() {
  static nghttp2_mem pool{nullptr, take, give_back, take_zeroed, resize};
  return kAddressSanitizer ? nullptr : &pool;
}

}  // namespace weir::grpc
