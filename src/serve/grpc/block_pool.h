// BlockPool: memory for nghttp2, which asks for a score of small blocks with each call and gives
// them back.
//
// Blocks that were given back wait in lists of the thread's own, one for each size, at most
// kMaxHeldBytes of them; larger ones are malloc's. WHY beside malloc: the C library keeps seven
// blocks of a size at hand for a thread. Where a read brings 64 calls, all others go its long way.
//
// THREADS: any; a block may be given back by another thread than the one that took it.

#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>

namespace weir::grpc {

inline constexpr std::size_t kMaxHeldBytes = 1 << 20;  // of one thread

// Null where nghttp2 shall use malloc: under the address sanitizer, which must see every block.
nghttp2_mem* block_pool();

}  // namespace weir::grpc
