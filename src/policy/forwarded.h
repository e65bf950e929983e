// The chains of hops that proxies write: X-Forwarded-For, and Forwarded of RFC 7239.
//
// Each reads the lines' hops from the right. What is no address is a malformed hop and not an
// error: whoever wrote the chain may be anybody. Bounded: only the last kMaxHops of a line count.
//
// THREADS: a cursor belongs to one caller.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/ip.h"

namespace weir::policy {

struct Hop {
  std::optional<IpAddress> address;  // nothing: malformed
};

// Hops of one X-Forwarded-For line, last first.
class ForwardedForHops {
 public:
  explicit ForwardedForHops(std::string_view line) : rest_(line) {}
  std::optional<Hop> next();

 private:
  std::string_view rest_;
  bool done_ = false;
};

// Hops of one Forwarded line, last first. A line whose quotes do not close is one malformed hop:
// where its commas stand cannot be told.
class ForwardedHops {
 public:
  static constexpr std::size_t kMaxHops = 64;

  explicit ForwardedHops(std::string_view line);
  std::optional<Hop> next();

 private:
  std::array<std::string_view, kMaxHops> elements_;  // a ring: the last ones seen
  std::size_t seen_ = 0;
  std::size_t given_ = 0;
};

}  // namespace weir::policy
