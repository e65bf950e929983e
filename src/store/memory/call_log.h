// CallLog: the calls of one key that still count, as marks (limit/sliding_log.h), oldest first.
//
// Marks lie in one piece; those that have expired leave at the front at no cost, and the room they
// took is closed up when it is the larger half. Memory follows what is held.
//
// THREADS: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "limit/sliding_log.h"

namespace weir::store {

class CallLog {
 public:
  limit::LogView view() const { return {{marks_.data() + head_, size()}, before_}; }
  std::size_t size() const { return marks_.size() - head_; }

  // Does what `step` says of a call of `cost`.
  void apply(const limit::LogStep& step, std::uint64_t cost);

  // Drops the `expired` oldest marks, then takes `cost` calls out: those made at `charged_at`;
  // where it is not known, the newest or, for calls in flight, the oldest, which holds those that
  // are still running longest.
  enum class Unknown { kNewest, kOldest };
  struct Refund {
    std::uint64_t cost = 0;
    std::optional<std::int64_t> charged_at;
    Unknown order = Unknown::kNewest;
    std::size_t expired = 0;
  };
  // Says how many it took.
  std::uint64_t take_out(Refund refund);

  // Adds `cost` calls made at `at`, among those that are there.
  void put_in(std::int64_t at, std::uint64_t cost);

  // Joins the two oldest marks into the younger: its calls then leave late, never early. The one
  // way to forget a mark without ever going over the limit. False where there are not two.
  bool join_oldest();

  // The moment of the newest call. REQUIRES: size() > 0.
  std::int64_t newest() const { return marks_.back().at; }

 private:
  void drop_front(std::size_t count);
  std::uint64_t take_from(std::size_t index, std::uint64_t cost);
  void close_up();
  std::vector<limit::Mark>::iterator find(std::int64_t at);  // the first not before it

  std::vector<limit::Mark> marks_;
  std::size_t head_ = 0;
  std::uint64_t before_ = 0;
};

}  // namespace weir::store
