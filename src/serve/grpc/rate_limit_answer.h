// What the descriptors of one call were answered, as a RateLimitResponse.
//
// Statuses stand in the order of the descriptors. The headers and the body are those of one
// descriptor: the one that is refused longest, else the one with the least share left.
// duration_until_reset is in whole seconds, rounded up: refused, until the same call is admitted;
// admitted, until the limit is as fresh; where a charge was given back, 0 or nothing.
//
// THREADS: any; each has its own memory for headers.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/engine.h"
#include "weir/result.h"
#include "wire/grpc/rate_limit.h"

namespace weir::grpc {

// One of `decision` and `told`, or neither where the descriptor says nothing.
struct DescriptorAnswer {
  bool decided = false;
  engine::Decision decision;           // where decided
  std::optional<store::Answer> told;   // of an override
  std::optional<rls::Override> limit;  // that override
  std::string key;                     // whom it counts
  std::uint64_t cost = 1;              // of it

  // Whether nobody could say: the store failed, and that means no.
  bool is_unavailable() const {
    if (decided) return decision.reason == Reason::kLimiterUnavailable;
    return told && told->source == Source::kFailClosed;
  }
  bool is_refused() const {
    if (decided) return !decision.allowed;
    return told && !told->verdict.allowed();
  }

  // Makes it as new, keeping the decision's memory.
  void clear() {
    decided = false;
    decision.clear();
    told.reset();
    limit.reset();
    key.clear();
    cost = 1;
  }
};

// What counts for all descriptors of a call.
struct AnsweredCall {
  std::shared_ptr<const engine::CompiledPolicy> policy;
  std::uint32_t instances = 1;
  Instant now;
  bool given_back = false;  // what admitted descriptors were charged
};

// The numbers that an override is counted by.
TokenBucket bucket_of(const rls::Override& limit);

// Fills `response`, whose views live as long as the answers, and until the next of this thread.
// ERRORS: kUnavailable where a limit could not be asked and says `on_error: deny`.
Result<bool> make_response(std::span<const DescriptorAnswer> answers, const AnsweredCall& call,
                           rls::Response& response);

}  // namespace weir::grpc
