// FreshQueue: which entries may be equal to fresh by now, soonest first.
//
// Holds, for each entry, a moment before which it is certainly not fresh. A charge only ever moves
// the true moment later, so it leaves the queue alone: an entry whose moment has come is asked for
// its true one, and goes back if that is still to come. So "is any entry fresh" has an exact
// answer, at O(log n) a charge at worst, and without a sweep.
//
// THREADS: one at a time.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::store {

class FreshQueue {
 public:
  struct Item {
    std::int64_t at;
    std::uint32_t slot;  // of the entry; it may be another's by now
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Item& top() const { return heap_.front(); }
  bool due(std::int64_t now) const { return !heap_.empty() && heap_.front().at <= now; }

  void push(Item item) {
    heap_.push_back(item);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }

  void clear() { heap_.clear(); }

 private:
  static bool later(const Item& a, const Item& b) { return a.at > b.at; }

  std::vector<Item> heap_;
};

}  // namespace weir::store
