#include "store/memory/rule_book.h"

#include <algorithm>
#include <functional>
#include <string>
#include <variant>

namespace weir::store {
namespace {

// Collects the parts of a value into one hash. Numbers come from policies, not from clients, but
// for CL.THROTTLE's; there the book is bounded by what entries hold.
class Mixer {
 public:
  void add(std::uint64_t part) {
    value_ = (value_ ^ part) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 32;
  }
  void add(Duration part) { add(static_cast<std::uint64_t>(part.count())); }
  void add(const Rate& rate) {
    add(rate.count);
    add(rate.period);
  }
  void add(const FixedSpan& span) {
    add(span.index());
    if (const auto* length = std::get_if<Duration>(&span)) return add(*length);
    const auto& calendar = std::get<Calendar>(span);
    add(static_cast<std::uint64_t>(calendar.unit));
    add(std::hash<std::string>{}(calendar.timezone));
  }

  void operator()(const TokenBucket& n) { add_all(n.rate, n.burst, std::uint64_t{n.keeps_time}); }
  void operator()(const LeakyBucket& n) { add_all(n.rate, n.queue); }
  void operator()(const FixedWindow& n) {
    add_all(n.limit, n.window, static_cast<std::uint64_t>(n.align));
  }
  void operator()(const SlidingLog& n) { add_all(n.limit, n.window); }
  void operator()(const SlidingCounter& n) {
    add_all(n.limit, n.window, static_cast<std::uint64_t>(n.align));
  }
  void operator()(const Concurrency& n) { add_all(n.limit, n.timeout); }
  void operator()(const Unlimited&) {}

  std::size_t value() const { return value_; }

 private:
  template <typename... Parts>
  void add_all(const Parts&... parts) {
    (add(parts), ...);
  }

  std::uint64_t value_ = 0;
};

}  // namespace

std::size_t NumbersHash::operator()(const Numbers& numbers) const {
  Mixer mixer;
  mixer.add(std::uint64_t{numbers.index()});
  std::visit(mixer, numbers);
  return mixer.value();
}

BookedRule* RuleBook::intern(const limit::Rule& rule) {
  const std::lock_guard lock(mutex_);
  if (const auto known = by_serial_.find(rule.serial()); known != by_serial_.end()) {
    return known->second;
  }
  BookedRule* booked = find_or_book(rule);
  if (by_serial_.size() > 2 * rules_.size() + kFirstReclaim) by_serial_.clear();
  by_serial_.emplace(rule.serial(), booked);
  return booked;
}

void RuleBook::note_use(const limit::Rule& rule, BookedRule& booked) {
  std::uint32_t place = booked.place.load(std::memory_order_acquire);
  if (place == 0) {
    if (rule.token_bucket() == nullptr) return;
    const auto before = booked.uses.fetch_add(1, std::memory_order_relaxed);
    if (before + 1 != kUsesForPlace) return;
    give_place(booked);
    place = booked.place.load(std::memory_order_relaxed);
    if (place == 0) return;
  }
  const std::uint64_t known = rule.serial() << kPlaceBits | place;
  std::atomic<std::uint64_t>& recent = recent_places_[rule.serial() % kRecentPlaces];
  if (recent.load(std::memory_order_relaxed) != known) {
    recent.store(known, std::memory_order_relaxed);
  }
}

void RuleBook::give_place(BookedRule& booked) {
  const std::lock_guard lock(mutex_);
  if (booked.place.load(std::memory_order_relaxed) != 0) return;
  const limit::TokenBucketRule& bucket = *booked.rule->token_bucket();
  if (!limit::NarrowBucket::can_hold(bucket) || last_place_ + 1 >= kMaxPlaces) return;
  booked.narrow.emplace(bucket);
  by_place_[++last_place_].store(&booked, std::memory_order_release);
  booked.place.store(last_place_, std::memory_order_release);
}

BookedRule* RuleBook::find_or_book(const limit::Rule& rule) {
  const auto [place, fresh] = by_numbers_.try_emplace(rule.numbers(), nullptr);
  if (!fresh) return place->second;
  if (unused_.empty()) unused_.push_back(&rules_.emplace_back());
  if (by_numbers_.size() >= reclaim_at_) wants_reclaim_.store(true, std::memory_order_relaxed);
  place->second = unused_.back();
  unused_.pop_back();
  place->second->rule.emplace(rule);
  place->second->uses.store(0, std::memory_order_relaxed);
  return place->second;
}

void RuleBook::begin_reclaim() {
  const std::lock_guard lock(mutex_);
  by_serial_.clear();
  std::erase_if(by_numbers_, [this](const auto& item) {
    const bool idle = item.second->entries.load(std::memory_order_relaxed) == 0 &&
                      item.second->place.load(std::memory_order_relaxed) == 0;
    if (idle) retired_.push_back(item.second);
    return idle;
  });
  // WHY here: rules that come while the shards are looked through would put the next reclaim off,
  // further with each.
  reclaim_at_ = std::max(kFirstReclaim, 2 * by_numbers_.size());
}

void RuleBook::end_reclaim() {
  const std::lock_guard lock(mutex_);
  // One that came into use meanwhile is current again, unless its numbers were booked anew: then
  // it stays retired until its entries are gone.
  std::erase_if(retired_, [this](BookedRule* booked) {
    if (booked->entries.load(std::memory_order_relaxed) > 0 ||
        booked->place.load(std::memory_order_relaxed) != 0) {
      return by_numbers_.try_emplace(booked->rule->numbers(), booked).second;
    }
    booked->rule.reset();
    unused_.push_back(booked);
    return true;
  });
  wants_reclaim_.store(by_numbers_.size() >= reclaim_at_, std::memory_order_relaxed);
}

std::size_t RuleBook::size() const {
  const std::lock_guard lock(mutex_);
  return by_numbers_.size();
}

}  // namespace weir::store
