// Windows, logs and calls in flight, by the list of the calls that were admitted.

#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "oracle/model.h"

namespace weir::oracle {

struct Call {
  Instant at;
  std::uint64_t cost = 0;
};

// The window [start, end) in nanoseconds.
struct Window {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

class FixedWindowModel final : public Model {
 public:
  explicit FixedWindowModel(const FixedWindow& numbers) : numbers_(numbers) {}
  Verdict ask(std::uint64_t cost, Instant now, bool charge) override;
  void refund(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;
  void overdraw(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;

 private:
  Window window(std::int64_t now) const;
  Integer used(const Window& window) const;

  FixedWindow numbers_;
  std::vector<Call> calls_;
  std::optional<std::int64_t> first_;  // align: first
};

class SlidingCounterModel final : public Model {
 public:
  explicit SlidingCounterModel(const SlidingCounter& numbers) : numbers_(numbers) {}
  Verdict ask(std::uint64_t cost, Instant now, bool charge) override;
  void refund(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;
  void overdraw(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;

 private:
  std::int64_t start(std::int64_t now) const;
  Integer calls_in(std::int64_t start) const;
  Fraction estimate(std::int64_t now) const;
  // The first moment from `now` on at which the estimate is at most `level`.
  Duration until_at_most(const Fraction& level, std::int64_t now) const;

  SlidingCounter numbers_;
  std::vector<Call> calls_;
  std::int64_t anchor_ = 0;  // align: first
};

class LogModel final : public Model {
 public:
  explicit LogModel(const SlidingLog& n) : limit_(n.limit), window_(n.window), flight_(false) {}
  explicit LogModel(const Concurrency& n) : limit_(n.limit), window_(n.timeout), flight_(true) {}
  Verdict ask(std::uint64_t cost, Instant now, bool charge) override;
  void refund(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;
  void renew(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;
  void overdraw(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;

 private:
  Integer counted_at(std::int64_t moment) const;
  // The first moment from `now` on at which at most `count` calls are counted.
  Duration until_at_most(const Integer& count, std::int64_t now) const;
  void add(Instant at, std::uint64_t cost);

  std::uint64_t limit_;
  Duration window_;
  bool flight_;
  std::vector<Call> calls_;
};

// The window of the calendar that holds `now`, found with the C library's clock alone.
Window calendar_window(const Calendar& calendar, std::int64_t now);

}  // namespace weir::oracle
