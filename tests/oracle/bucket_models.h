// Token and leaky buckets, by the level of the one and the next free slot of the other.

#pragma once

#include "oracle/model.h"

namespace weir::oracle {

class TokenBucketModel final : public Model {
 public:
  explicit TokenBucketModel(const TokenBucket& numbers);
  Verdict ask(std::uint64_t cost, Instant now, bool charge) override;
  void refund(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;
  void overdraw(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;

 private:
  void refill(std::int64_t now);
  Duration time_for(const Fraction& tokens) const;

  Fraction rate_;  // tokens in a nanosecond
  Fraction burst_;
  Fraction tokens_;
  std::int64_t at_ = 0;
};

class LeakyBucketModel final : public Model {
 public:
  explicit LeakyBucketModel(const LeakyBucket& numbers);
  Verdict ask(std::uint64_t cost, Instant now, bool charge) override;
  void refund(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;
  void overdraw(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;

 private:
  Verdict ask_frozen(std::uint64_t cost, bool charge);
  Fraction wait(std::int64_t now) const;

  bool frozen_;         // rate 0: one slot, now, and no other
  bool taken_ = false;  // frozen: that slot is gone
  Fraction interval_;   // nanoseconds between slots
  Integer queue_;
  std::optional<Fraction> next_free_;  // no call yet: now
};

}  // namespace weir::oracle
