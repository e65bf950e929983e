#include "serve/resp/throttle.h"

#include <charconv>
#include <limits>
#include <optional>

#include "base/seconds.h"

namespace weir::resp {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::int64_t whole_seconds(Duration duration) {
  return static_cast<std::int64_t>(ceil_seconds(duration));
}

// Digits alone, and so few that no number of them overflows; -1: something else.
std::int64_t read_plain_number(std::string_view text) {
  if (text.empty() || text.size() > 18) return -1;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// A whole number with an optional sign, as redis-cell reads them.
std::optional<std::int64_t> read_number(std::string_view text) {
  if (const std::int64_t plain = read_plain_number(text); plain >= 0) return plain;
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Raw {
  std::int64_t max_burst = 0;
  std::int64_t count = 0;
  std::int64_t period = 0;
  std::int64_t quantity = 1;
};

Error bad(std::string_view name, std::string_view allowed) {
  return {ErrorCode::kInvalid, std::string(name) + " must be " + std::string(allowed)};
}

Result<Raw> read_numbers(std::span<const std::string_view> arguments, std::int64_t least_burst) {
  static constexpr std::string_view kNames[] = {"max_burst", "count", "period", "quantity"};
  Raw raw;
  std::int64_t* const values[] = {&raw.max_burst, &raw.count, &raw.period, &raw.quantity};
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const auto value = read_number(arguments[i]);
    if (!value) return bad(kNames[i - 2], "a whole number of at most 64 bits");
    *values[i - 2] = *value;
  }
  if (arguments[1].size() > kMaxKeyBytes) {
    return Error{ErrorCode::kInvalid,
                 "key too long: at most " + std::to_string(kMaxKeyBytes) + " bytes"};
  }
  if (raw.max_burst < least_burst || raw.max_burst == kMax) {
    return bad("max_burst", "from " + std::to_string(least_burst) + " to 9223372036854775806");
  }
  if (raw.count <= 0) return bad("count", "more than 0");
  if (raw.period <= 0 || raw.period > kMax / kNsPerSecond) {
    return bad("period", "from 1 to 9223372036 seconds");
  }
  return raw;
}

Throttle make(std::string_view key, const Raw& raw, std::uint64_t burst) {
  Throttle throttle;
  throttle.key = key;
  throttle.numbers.rate.count = static_cast<std::uint64_t>(raw.count);
  throttle.numbers.rate.period = Duration(raw.period * kNsPerSecond);
  throttle.numbers.burst = burst;
  throttle.refund = raw.quantity < 0;
  const auto quantity = static_cast<std::uint64_t>(raw.quantity);
  throttle.cost = throttle.refund ? 0 - quantity : quantity;
  return throttle;
}

std::int64_t retry_seconds(const Verdict& verdict) {
  return verdict.outcome == Outcome::kDenied ? whole_seconds(verdict.retry_after) : -1;
}

}  // namespace

Result<Throttle> read_cl_throttle(std::span<const std::string_view> arguments) {
  const Result<Raw> raw = read_numbers(arguments, -1);
  if (!raw) return raw.error();
  return make(arguments[1], *raw, static_cast<std::uint64_t>(raw->max_burst + 1));
}

Result<Throttle> read_throttle(std::span<const std::string_view> arguments) {
  const Result<Raw> raw = read_numbers(arguments, 1);
  if (!raw) return raw.error();
  if (raw->quantity < 0) return bad("quantity", "0 or more");
  return make(arguments[1], *raw, static_cast<std::uint64_t>(raw->max_burst));
}

FiveIntegers cl_throttle_reply(const Verdict& verdict) {
  return {verdict.allowed() ? 0 : 1, static_cast<std::int64_t>(verdict.quota),
          static_cast<std::int64_t>(verdict.remaining), retry_seconds(verdict),
          whole_seconds(verdict.reset_after)};
}

FiveIntegers throttle_reply(const Verdict& verdict) {
  return {verdict.allowed() ? 1 : 0, static_cast<std::int64_t>(verdict.quota),
          static_cast<std::int64_t>(verdict.remaining), whole_seconds(verdict.reset_after),
          verdict.allowed() ? 0 : retry_seconds(verdict)};
}

}  // namespace weir::resp
