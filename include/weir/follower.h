// Follower: the other side of a rate limit: a client that obeys what a server tells it.
//
//   follower.obey(response.status, headers);          // after each response
//   if (follower.wait() > weir::Duration(0)) ...      // before the next request
//
// Understands RateLimit (RFC 9651 lists with `r` and `t`: the item with the least left counts),
// X-RateLimit-Remaining and X-RateLimit-Reset (seconds from now, or Unix seconds), and Retry-After
// (seconds, or an HTTP date in any of its three forms). What it cannot read it passes over. A 429,
// or a 503 with Retry-After, drains it: nothing is sent before the time told by Retry-After, else
// by the reset, else before `default_wait`. What a refusal with Retry-After says of what is left,
// or an earlier response said, does not lengthen that.
//
// Between two responses it counts down what it knows to be left, and refuses when that is used up,
// until the server's reset. THREADS: any.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "weir/clock.h"
#include "weir/export.h"
#include "weir/time.h"

namespace weir {

namespace library {
class FollowerCore;
}  // namespace library

struct FollowerOptions {
  const Clock* clock = nullptr;  // must outlive the follower; null: system_clock()
  Duration default_wait{std::chrono::seconds(1)};
  Duration most_wait{std::chrono::hours(24)};  // nobody can make the client wait longer
};

struct HeaderLine {
  std::string_view name;  // in any case
  std::string_view value;
};

class WEIR_API Follower {
 public:
  explicit Follower(const FollowerOptions& options = {});
  Follower(Follower&& other) noexcept;
  Follower& operator=(Follower&& other) noexcept;
  ~Follower();

  // Learns from a response.
  void obey(int status, std::span<const HeaderLine> headers,
            std::optional<Instant> now = std::nullopt);

  // Whether a request may be sent now; counts it where it may.
  bool allow(std::optional<Instant> now = std::nullopt);
  // How long until one may be sent; 0: now. Counts nothing.
  Duration wait(std::optional<Instant> now = std::nullopt) const;
  // How many more the server said to be left, less those sent since; nothing where it did not say.
  std::optional<std::uint64_t> remaining(std::optional<Instant> now = std::nullopt) const;

 private:
  std::unique_ptr<library::FollowerCore> core_;
};

}  // namespace weir
