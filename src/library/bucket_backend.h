// BucketBackend: a lone token bucket, behind the limiter's lock.
//
// THREADS: one at a time, under the limiter's lock.

#pragma once

#include <cstdint>
#include <optional>

#include "library/backend.h"
#include "library/bucket.h"
#include "library/promises.h"
#include "weir/limiter.h"

namespace weir::library {

class BucketBackend final : public Backend {
 public:
  explicit BucketBackend(const Shape& shape) : shape_(shape) {}

  Taken take(std::uint64_t cost, Instant now) override;
  std::uint64_t left(Instant now) override { return take(0, now).verdict.remaining; }
  Verdict look(std::uint64_t cost, Instant now) override;
  Taken reserve(std::uint64_t cost, Duration most_delay, Instant now) override;
  // What was taken as number `order` acts after `delay`. REQUIRES: it was the last to be taken.
  void promise(std::uint64_t order, std::uint64_t cost, Duration delay);
  // Gives back what those who act later leave room for, at most `most` ticks, and says how many.
  Wide give_back(std::uint64_t order, std::uint64_t cost, Wide most, Instant now);
  // The same of what was kept from others, now that number `order` will not act.
  Wide withdraw(std::uint64_t order, Wide most);
  void take_anyway(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;
  void set_left(std::uint64_t tokens, Instant now) override;
  void reset(Instant now) override;
  void update(const Shape& shape, Inherit inherit, Instant now);

  const Shape& shape() const { return shape_; }
  Level& level() { return level_; }
  const Level& level() const { return level_; }
  void advance(Instant now);

 private:
  bool admits(std::uint64_t cost) const;
  Taken answer(const Verdict& verdict, Instant now) const;
  Wide lower(Wide ticks);
  Wide inherited(const Shape& shape, Inherit inherit) const;

  Shape shape_;
  Level level_;
  Promises promises_;
};

}  // namespace weir::library
