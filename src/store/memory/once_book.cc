#include "store/memory/once_book.h"

#include <algorithm>

namespace weir::store {

OnceBook::Use OnceBook::use(const Hash128& serial, std::int64_t until, std::int64_t now) {
  const std::lock_guard lock(mutex_);
  ended_ = std::max(ended_, now);
  while (!used_.empty() && used_.front().until <= ended_) drop_first();
  if (until <= ended_) return Use::kTooLate;
  if (serials_.contains(serial)) return Use::kAgain;
  if (used_.size() >= most_) {
    const std::int64_t soonest = used_.front().until;
    if (until <= soonest) return Use::kTooLate;
    ended_ = soonest;
    while (!used_.empty() && used_.front().until <= ended_) drop_first();
  }
  serials_.insert(serial);
  used_.push_back({until, serial});
  std::push_heap(used_.begin(), used_.end(), EndsLater{});
  return Use::kFirst;
}

std::size_t OnceBook::size() const {
  const std::lock_guard lock(mutex_);
  return used_.size();
}

void OnceBook::drop_first() {
  serials_.erase(used_.front().serial);
  std::pop_heap(used_.begin(), used_.end(), EndsLater{});
  used_.pop_back();
}

}  // namespace weir::store
