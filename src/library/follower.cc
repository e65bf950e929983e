#include "weir/follower.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <mutex>
#include <string>

#include "base/letters.h"
#include "base/seconds.h"
#include "base/trim.h"
#include "limit/state.h"
#include "wire/http_date.h"
#include "wire/structured_fields.h"

namespace weir {
namespace library {
namespace {

constexpr std::uint64_t kMaxSeconds = 9'000'000'000;  // 285 years: fits in nanoseconds
constexpr std::uint64_t kMaxCalls = std::numeric_limits<std::uint64_t>::max();

// A whole number, at most `most`; nothing for anything else.
std::optional<std::uint64_t> number(std::string_view text, std::uint64_t most) {
  text = trim(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return most;
  return error == std::errc() ? std::optional(std::min(value, most)) : std::nullopt;
}

}  // namespace

class FollowerCore {
 public:
  explicit FollowerCore(const FollowerOptions& options)
      : options_(options), clock_(options.clock != nullptr ? *options.clock : system_clock()) {}

  void obey(int status, std::span<const HeaderLine> headers, Instant now) {
    Told told;
    for (const HeaderLine& header : headers) read(header, now, told);
    const std::lock_guard lock(mutex_);
    const std::int64_t ns = limit::read(limit::Timeline::kSteady, now);
    const bool refused = status == 429 || (status == 503 && told.retry);
    if (refused) {
      // The server's own word for it first; else its reset; else what the caller chose.
      const Duration wait = told.retry ? *told.retry : told.reset.value_or(options_.default_wait);
      shut_until_ = std::max(shut_until_, ns + bounded(wait).count());
    }
    if (refused && told.retry) {
      // It is meant for this caller, as resets may not be: what is left is known until then only.
      left_ = 0;
      reset_at_ = shut_until_;
      return;
    }
    if (!told.remaining) return;
    left_ = refused ? 0 : *told.remaining;
    reset_at_ = ns + bounded(told.reset.value_or(options_.default_wait)).count();
  }

  bool allow(Instant now) {
    const std::lock_guard lock(mutex_);
    if (wait_ns(now) > 0) return false;
    if (known(now)) --*left_;
    return true;
  }

  Duration wait(Instant now) {
    const std::lock_guard lock(mutex_);
    return Duration(wait_ns(now));
  }

  std::optional<std::uint64_t> remaining(Instant now) {
    const std::lock_guard lock(mutex_);
    return known(now) ? left_ : std::nullopt;
  }

  Instant or_now(std::optional<Instant> now) const { return now ? *now : clock_.now(); }

 private:
  // What one response said.
  struct Told {
    std::optional<std::uint64_t> remaining;
    std::optional<Duration> reset;
    std::optional<Duration> retry;
    bool by_standard = false;  // RateLimit was there: it counts before X-RateLimit-*
  };

  void read(const HeaderLine& header, Instant now, Told& told) {
    if (equals_ignore_case(header.name, "retry-after")) {
      if (const auto seconds = number(header.value, kMaxSeconds)) {
        told.retry = Duration(static_cast<std::int64_t>(*seconds) * kNsPerSecond);
      } else if (const auto date =
                     parse_http_date(trim(header.value), now.wall_ns / kNsPerSecond)) {
        told.retry = until(*date, now);
      }
    } else if (equals_ignore_case(header.name, "ratelimit")) {
      read_list(header.value, told);
    } else if (equals_ignore_case(header.name, "x-ratelimit-remaining") && !told.by_standard) {
      if (const auto left = number(header.value, kMaxCalls)) told.remaining = *left;
    } else if (equals_ignore_case(header.name, "x-ratelimit-reset") && !told.by_standard) {
      const auto seconds = number(header.value, kMaxSeconds);
      if (!seconds) return;
      // A count of seconds from now, or, where that would be decades, a moment.
      constexpr std::uint64_t kDecades = 1'000'000'000;
      const auto value = static_cast<std::int64_t>(*seconds);
      told.reset = *seconds < kDecades ? Duration(value * kNsPerSecond) : until(value, now);
    }
  }

  // The item with the least left counts; among equals, the one with the longest wait.
  static void read_list(std::string_view field, Told& told) {
    const auto items = structured_fields::parse_list(field);
    if (!items) return;
    using Kind = structured_fields::Value::Kind;
    for (const structured_fields::Item& item : *items) {
      const auto* left = item.find("r");
      if (left == nullptr || left->kind != Kind::kInteger || left->integer < 0) continue;
      const auto* time = item.find("t");
      const bool timed = time != nullptr && time->kind == Kind::kInteger && time->integer >= 0;
      const auto seconds = timed ? std::min(static_cast<std::uint64_t>(time->integer), kMaxSeconds)
                                 : std::uint64_t{0};
      const Duration reset(static_cast<std::int64_t>(seconds) * kNsPerSecond);
      const auto count = static_cast<std::uint64_t>(left->integer);
      if (told.by_standard && (count > *told.remaining ||
                               (count == *told.remaining && reset <= told.reset.value_or(reset)))) {
        continue;
      }
      told.by_standard = true;
      told.remaining = count;
      told.reset = timed ? std::optional(reset) : std::nullopt;
    }
  }

  static Duration until(std::int64_t unix_seconds, Instant now) {
    constexpr auto kMax = static_cast<std::int64_t>(kMaxSeconds);
    const std::int64_t moment =
        limit::within_reach(std::clamp(unix_seconds, -kMax, kMax) * kNsPerSecond);
    return Duration(std::max<std::int64_t>(moment - limit::within_reach(now.wall_ns), 0));
  }

  Duration bounded(Duration wait) const {
    return std::clamp(wait, Duration(0), std::min(options_.most_wait, Duration(limit::kMaxSpanNs)));
  }

  // What is left is known until the server's reset.
  bool known(Instant now) const {
    return left_ && limit::read(limit::Timeline::kSteady, now) < reset_at_;
  }

  std::int64_t wait_ns(Instant now) const {
    const std::int64_t ns = limit::read(limit::Timeline::kSteady, now);
    std::int64_t until = shut_until_;
    if (known(now) && *left_ == 0) until = std::max(until, reset_at_);
    return until > ns ? until - ns : 0;
  }

  const FollowerOptions options_;
  const Clock& clock_;
  std::mutex mutex_;
  std::optional<std::uint64_t> left_;
  std::int64_t reset_at_ = limit::kEarliestNs;
  std::int64_t shut_until_ = limit::kEarliestNs;
};

}  // namespace library

Follower::Follower(const FollowerOptions& options)
    : core_(std::make_unique<library::FollowerCore>(options)) {}
Follower::Follower(Follower&& other) noexcept = default;
Follower& Follower::operator=(Follower&& other) noexcept = default;
Follower::~Follower() = default;

void Follower::obey(int status, std::span<const HeaderLine> headers, std::optional<Instant> now) {
  core_->obey(status, headers, core_->or_now(now));
}

bool Follower::allow(std::optional<Instant> now) {
  return core_->allow(core_->or_now(now));
}

Duration Follower::wait(std::optional<Instant> now) const {
  return core_->wait(core_->or_now(now));
}

std::optional<std::uint64_t> Follower::remaining(std::optional<Instant> now) const {
  return core_->remaining(core_->or_now(now));
}

}  // namespace weir
