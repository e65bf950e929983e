// OnceBook: which corrections have been made, so that none is made twice.
//
// Remembers a serial until its Once ends; afterwards it is refused by that alone. Bounded: when it
// is full, the serial that ends soonest goes, and all that end no later are refused from then on,
// so that forgetting never lets one through a second time.
//
// THREADS: any.

#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "base/siphash.h"

namespace weir::store {

class OnceBook {
 public:
  explicit OnceBook(std::size_t most) : most_(most) {}

  enum class Use : std::uint8_t { kFirst, kAgain, kTooLate };
  // Marks `serial` as used until `until`, on the timeline of `now`.
  Use use(const Hash128& serial, std::int64_t until, std::int64_t now);

  std::size_t size() const;

 private:
  struct Used {
    std::int64_t until;
    Hash128 serial;
  };
  struct Hash {
    std::size_t operator()(const Hash128& serial) const { return serial.low ^ serial.high; }
  };
  struct EndsLater {
    bool operator()(const Used& a, const Used& b) const { return a.until > b.until; }
  };

  void drop_first();

  const std::size_t most_;
  mutable std::mutex mutex_;
  // What ends by then is refused.
  std::int64_t ended_ = std::numeric_limits<std::int64_t>::min();
  std::vector<Used> used_;  // a heap, what ends soonest first
  boost::unordered_flat_set<Hash128, Hash> serials_;
};

}  // namespace weir::store
