// Answer: what every HTTP listener says about a decision in header fields (docs/http.md). The body
// of a refusal is refusal_body.h's, the check API's check_json.h's.
//
// Seconds are whole and rounded up: down would tell a client to come back too early, to be refused
// again.
//
// THREADS: pure functions; an AnswerHeaders belongs to one caller.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"

namespace weir::engine {

// The status of a refused request: 503 when the limiter could not decide, 403 where it is blocked,
// else the policy's.
int refusal_status(const Decision& decision);

// "RATE_LIMITED", "BLOCKED" or "LIMITER_UNAVAILABLE". REQUIRES: !decision.allowed.
std::string_view refusal_code(const Decision& decision);

// What Retry-After says: whole seconds, at least 1, with the policy's jitter. Nothing for an
// admitted request, and where no wait helps or its length is not known.
std::optional<std::uint64_t> retry_after_seconds(const Decision& decision);

// What X-RateLimit-* say, of the limit that the decision names.
struct NamedNumbers {
  std::uint64_t quota = 0;
  std::uint64_t remaining = 0;
  std::optional<std::uint64_t> reset;  // Unix seconds; calls in flight have no such moment
};
// Nothing where no limit was met, or the store did not answer.
std::optional<NamedNumbers> named_numbers(const Decision& decision);

// The header fields that the policy asks for, in families: X-RateLimit-*, RateLimit-Policy and
// RateLimit, Retry-After, X-RateLimit-Shadow. Keeps its memory between fills.
class AnswerHeaders {
 public:
  // A field's name in both forms: as HTTP/1 shows it, and in lower case. Static text.
  struct Name {
    std::string_view shown;
    std::string_view lower;
  };
  struct Line {
    std::string_view name;
    std::string_view lower_name;
    std::string_view value;
  };
  static constexpr std::size_t kMaxLines = 7;
  static constexpr std::size_t kMaxItems = 8;  // of one list field

  // Replaces what it held.
  void fill(const Decision& decision);

  std::size_t size() const { return size_; }
  // The views live until the next fill(). REQUIRES: i < size().
  Line operator[](std::size_t i) const;
  // Appends every line as "Name: value\r\n".
  void append_to(std::string& out) const;

  // fill() and append_to() in one step, for callers who ask for no line by itself.
  static void append(const Decision& decision, std::string& out);

 private:
  // Where a line's value stands in buffer_.
  struct Slot {
    const Name* name = nullptr;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  struct Room;
  struct NoSlots;
  struct KeptSlots;
  template <typename Slots>
  class Builder;

  std::string buffer_;  // every line, whole
  std::array<Slot, kMaxLines> slots_;
  std::size_t size_ = 0;
};

// Whether a header of this name (in any case) speaks of rate limits as ours do, so that an
// upstream's own is replaced by them. Retry-After does not: an upstream may say when it will be
// back.
bool is_rate_limit_header(std::string_view name);

// Appends the limit's name as JSON, or null where the decision names none. No name needs an escape.
template <typename Text>
void append_json_name(Text& out, const LimitDecision* named) {
  if (named == nullptr) {
    out += "null";
    return;
  }
  out += '"';
  out += named->name;
  out += '"';
}

}  // namespace weir::engine
