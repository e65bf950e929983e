#include "serve/gateway/request_id.h"

#include <sys/random.h>

#include <algorithm>

#include "base/check.h"
#include "base/hex.h"

namespace weir::gateway {
namespace {

constexpr std::size_t kMaxSize = 128;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_.:/+=@~").find(c) != std::string_view::npos;
}

}  // namespace

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSize &&
         std::all_of(text.begin(), text.end(), is_plain);
}

RequestIds::RequestIds() {
  const ssize_t got = ::getrandom(state_.data(), sizeof state_, 0);
  WEIR_CHECK(got == sizeof state_, "the kernel gives sixteen random bytes at once");
}

// splitmix64 (Steele, Lea, Flood 2014): a bijection of a counter, so that no value comes twice in
// 2^64.
std::uint64_t RequestIds::next() {
  std::uint64_t z = state_[1] += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// The loop's half and the request's.
void RequestIds::append_next(std::string& out) {
  append_hex(out, state_[0]);
  append_hex(out, next());
}

}  // namespace weir::gateway
