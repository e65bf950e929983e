// RuleBook: the rules under which a store's entries were written, one for each set of numbers.
//
// An entry points at its rule, so that a key keeps the numbers it was written under until it is
// used again. Rules with equal numbers are one: a reload that leaves numbers alone changes nothing.
// A rule that no entry points at any more is dropped, in two steps: begin_reclaim() gives it to
// nobody any more; then every shard must have been locked and unlocked once, so that nobody still
// holds a pointer that is not counted yet; end_reclaim() drops it if it is still unused.
//
// Token buckets that fit one word (limit/narrow_bucket.h) are given a place, a small number that
// names them in the slots of a SlotTable. A place is given at the fourth use, so that numbers that
// come with single calls take none, and for ever: who decides without a lock may still hold it.
// Where all are taken, further numbers are decided under the lock, with the same answers.
//
// THREADS: place_of(), placed(): any, without waiting. The rest any; hold() and release() under the
// lock of the entry's shard; one reclaim at a time.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "limit/narrow_bucket.h"
#include "limit/rule.h"

namespace weir::store {

struct BookedRule {
  std::optional<limit::Rule> rule;  // empty: not in use
  std::atomic<std::uint64_t> entries{0};
  std::atomic<std::uint32_t> uses{0};
  std::optional<limit::NarrowBucket> narrow;  // where it has a place, and written before that
  std::atomic<std::uint32_t> place{0};        // 0: none

  // Null while it has no place: any thread may be giving it one.
  const limit::NarrowBucket* placed() const {
    return place.load(std::memory_order_acquire) == 0 ? nullptr : &*narrow;
  }

  void hold() { entries.fetch_add(1, std::memory_order_relaxed); }
  void release() { entries.fetch_sub(1, std::memory_order_relaxed); }
};

struct NumbersHash {
  std::size_t operator()(const Numbers& numbers) const;
};

class RuleBook {
 public:
  // The booked rule with the numbers of `rule`; good while the shard it was asked for is locked, or
  // an entry holds it.
  BookedRule* intern(const limit::Rule& rule);

  // Counts a use of `booked`, which may earn it a place, and makes its place known as that of
  // `rule`. Under the shard's lock.
  void note_use(const limit::Rule& rule, BookedRule& booked);

  // Gives a place now, if there is one left and the rule fits; to one that has none.
  void give_place(BookedRule& booked);

  // The place of a rule with this serial; 0 where there is none, or it is not known just now.
  std::uint32_t place_of(std::uint64_t serial) const {
    const std::uint64_t known =
        recent_places_[serial % kRecentPlaces].load(std::memory_order_relaxed);
    return known >> kPlaceBits == serial ? known & (kMaxPlaces - 1) : 0;
  }
  // REQUIRES: a place that was given.
  BookedRule* placed(std::uint32_t place) const {
    return by_place_[place].load(std::memory_order_acquire);
  }

  // Whether so many rules came since the last reclaim that one would pay.
  bool wants_reclaim() const { return wants_reclaim_.load(std::memory_order_relaxed); }
  void begin_reclaim();
  void end_reclaim();

  std::size_t size() const;

 private:
  static constexpr std::size_t kFirstReclaim = 1024;
  static constexpr unsigned kPlaceBits = 12;
  static constexpr std::uint32_t kMaxPlaces = 1u << kPlaceBits;
  static constexpr std::size_t kRecentPlaces = 1024;
  static constexpr std::uint32_t kUsesForPlace = 4;

  BookedRule* find_or_book(const limit::Rule& rule);

  mutable std::mutex mutex_;
  std::deque<BookedRule> rules_;
  std::vector<BookedRule*> unused_;
  std::vector<BookedRule*> retired_;  // given to nobody; unused soon
  std::unordered_map<Numbers, BookedRule*, NumbersHash> by_numbers_;
  // WHY a second table: a caller's rules keep their serial, and looking that up costs less than
  // hashing numbers. Callers that compile a rule for each call fill it; it is then emptied.
  std::unordered_map<std::uint64_t, BookedRule*> by_serial_;
  std::size_t reclaim_at_ = kFirstReclaim;
  std::atomic<bool> wants_reclaim_{false};

  std::uint32_t last_place_ = 0;
  std::array<std::atomic<BookedRule*>, kMaxPlaces> by_place_{};
  std::array<std::atomic<std::uint64_t>, kRecentPlaces> recent_places_{};  // serial, place
};

}  // namespace weir::store
