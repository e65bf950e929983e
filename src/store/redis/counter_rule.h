// CounterRule: a limit::Rule as the scripts of lua/ count by it, one tick being 1 us.
//
// The scripts decide and write; what they saw comes back as four integers (View), and the verdict
// is worked out here, by limit::Rule's own arithmetic: the same answers as in memory, at another
// tick. Buckets run a rule whose nanosecond stands for a microsecond, so that its ticks are theirs;
// windows the rule itself, with durations rounded up to whole microseconds.
//
// THREADS: immutable; any.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limit/rule.h"
#include "store/store.h"
#include "weir/decision.h"
#include "weir/result.h"

namespace weir::store::redis {

enum class Kind : std::uint8_t { kBucket, kCounter, kWindow, kLog };

class CounterRule {
 public:
  // How many arguments one charge has in charge.lua and correct.lua.
  static constexpr std::size_t kArguments = 10;

  // What charge.lua reports of a counter, in its order.
  struct View {
    std::array<std::int64_t, 4> at{};
  };

  // What one call wants of its counter.
  struct Request {
    std::uint64_t cost = 1;
    bool shadow = false;
    bool with_before = false;
    std::optional<std::int64_t> charged_at_us;  // corrections only
    Change change = Change::kGiveBack;          // the same
    std::int64_t now_us = 0;     // a guess of the server's time, for the bounds of the calendar
    std::string_view old_value;  // what stands there under other numbers, and ...
    std::string_view new_value;  // ... what that is under these
  };

  // ERRORS: kUnsupported where doubles would not be exact: a window's limit or a rate's denominator
  // of 2^53 or more.
  static Result<CounterRule> make(const limit::Rule& rule);

  Kind kind() const { return kind_; }
  // Of the limit::Rule that it was made of.
  std::uint64_t serial() const { return serial_; }
  // Names the algorithm, and what starts a new counter when it changes.
  std::string_view name() const { return name_; }
  std::uint64_t quota() const { return rule_.quota(); }
  // A retry is known, and a denial holds until then for this cost (and larger: `also_larger`).
  bool denial_lasts() const { return !concurrency_; }
  bool also_larger() const { return kind_ == Kind::kBucket; }

  // Whether bucket.lua can decide a call: what is missing fits one integer below 2^53.
  bool lean() const { return lean_; }
  // The arguments of bucket.lua but the last, the time. REQUIRES: lean().
  void append_lean(std::string& out, std::uint64_t cost) const;
  static constexpr std::size_t kLeanArguments = 6;
  // What the integer that bucket.lua returned says: the state before the call.
  View lean_view(std::int64_t answer, std::uint64_t cost) const;

  // kArguments arguments of a charge, or of a correction.
  void append_charge(std::string& out, const Request& request) const;
  void append_correction(std::string& out, const Request& request) const;

  // What a call of `cost` is answered in this state at `now_us`.
  Verdict decide(const View& view, std::uint64_t cost, std::int64_t now_us) const;

  // The same when `passed_us` more have passed and nobody called.
  Verdict decide_later(View view, std::uint64_t cost, std::int64_t now_us,
                       std::int64_t passed_us) const;

  // Whether the value `raw` was written under these numbers.
  bool is_own(std::string_view raw) const { return !tag_.empty() && raw.starts_with(tag_); }
  // The value `raw`, written under other numbers, as it reads under these ("": fresh). Nothing
  // where it is no value of this kind.
  std::optional<std::string> adopt(std::string_view raw, std::int64_t now_us) const;

 private:
  // Whole microseconds and 1/unit us.
  struct Span {
    std::uint64_t us = 0;
    std::uint64_t rem = 0;
  };

  CounterRule(limit::Rule rule, Kind kind) : rule_(std::move(rule)), kind_(kind) {}

  static Result<CounterRule> make_bucket(const TokenBucket& numbers, bool leaky);
  static Result<CounterRule> make_window(const Numbers& numbers);
  Span span_of(std::uint64_t tokens) const;
  std::uint64_t taken_by(std::uint64_t cost) const;
  std::uint64_t most_owed() const;
  std::string encode(const limit::State& state) const;
  std::string bounds(std::int64_t now_us) const;
  void append_conversion(std::string& out, const Request& request) const;
  void append_bucket(std::string& out, std::uint64_t taken, int sign = 1) const;
  void append_window(std::string& out, std::int64_t cost, const Request& request) const;
  limit::State state_of(const View& view, std::int64_t now_us) const;
  Verdict decide_log(const View& view, std::uint64_t cost, std::int64_t now_us) const;

  static Result<CounterRule> make_any(const Numbers& numbers);

  limit::Rule rule_;
  Kind kind_;
  std::uint64_t serial_ = 0;
  std::int64_t ns_ = 1;  // what one nanosecond of rule_ stands for
  std::string name_;
  std::string tag_;  // buckets
  bool lean_ = false;
  bool concurrency_ = false;
  bool keeps_time_ = false;    // the time until full, when the numbers change
  bool frozen_leaky_ = false;  // rate 0: the first call takes everything
  std::uint64_t burst_ = 0;
  std::uint64_t step_ = 0;  // of 1/unit us that one token takes
  std::uint64_t unit_ = 0;  // 0: never refills
  std::uint64_t limit_ = 0;
  std::int64_t length_us_ = 0;
  std::string align_;  // windows: "first" or ""
  std::optional<limit::CalendarWindows> calendar_;
};

}  // namespace weir::store::redis
