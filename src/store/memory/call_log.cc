#include "store/memory/call_log.h"

#include <algorithm>

namespace weir::store {

void CallLog::apply(const limit::LogStep& step, std::uint64_t cost) {
  if (step.clamp) {
    for (auto mark = marks_.rbegin(); mark != marks_.rend() && mark->at > step.at; ++mark) {
      mark->at = step.at;
    }
  }
  if (!step.charge) return;
  drop_front(step.expired);
  const std::uint64_t total = (size() == 0 ? before_ : marks_.back().total) + cost;
  if (size() > 0 && marks_.back().at == step.at) {
    marks_.back().total = total;
  } else {
    marks_.push_back({step.at, total});
  }
}

std::uint64_t CallLog::take_out(Refund refund) {
  drop_front(refund.expired);
  if (refund.charged_at) {
    const auto mark = find(*refund.charged_at);
    if (mark == marks_.end() || mark->at != *refund.charged_at) return 0;
    return take_from(static_cast<std::size_t>(mark - marks_.begin()), refund.cost);
  }
  std::uint64_t left = refund.cost;
  while (left > 0 && size() > 0) {
    const std::size_t index = refund.order == Unknown::kNewest ? marks_.size() - 1 : head_;
    left -= take_from(index, left);
  }
  return refund.cost - left;
}

void CallLog::put_in(std::int64_t at, std::uint64_t cost) {
  auto mark = find(at);
  const auto first = marks_.begin() + static_cast<std::ptrdiff_t>(head_);
  if (mark == marks_.end() || mark->at != at) {
    const std::uint64_t earlier = mark == first ? before_ : std::prev(mark)->total;
    mark = marks_.insert(mark, {at, earlier});
  }
  const std::uint64_t used = marks_.back().total - before_;
  const std::uint64_t added = limit::counted_up(used, cost) - used;
  for (; mark != marks_.end(); ++mark) mark->total += added;
}

std::vector<limit::Mark>::iterator CallLog::find(std::int64_t at) {
  return std::partition_point(marks_.begin() + static_cast<std::ptrdiff_t>(head_), marks_.end(),
                              [at](const limit::Mark& mark) { return mark.at < at; });
}

bool CallLog::join_oldest() {
  if (size() < 2) return false;
  ++head_;
  close_up();
  return true;
}

void CallLog::drop_front(std::size_t count) {
  if (count == 0) return;
  before_ = marks_[head_ + count - 1].total;
  head_ += count;
  close_up();
}

// Says how many calls it took. Later marks' totals hold the calls of earlier ones.
std::uint64_t CallLog::take_from(std::size_t index, std::uint64_t cost) {
  const std::uint64_t earlier = index == head_ ? before_ : marks_[index - 1].total;
  const std::uint64_t taken = std::min(cost, marks_[index].total - earlier);
  for (std::size_t i = index; i < marks_.size(); ++i) marks_[i].total -= taken;
  if (marks_[index].total == earlier) {
    if (index == head_) {
      ++head_;
      close_up();
    } else {
      marks_.erase(marks_.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  return taken;
}

void CallLog::close_up() {
  if (head_ * 2 < marks_.size()) return;
  marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
  constexpr std::size_t kWorthShrinking = 64;
  if (marks_.capacity() > kWorthShrinking && marks_.capacity() > 4 * marks_.size()) {
    marks_.shrink_to_fit();
  }
}

}  // namespace weir::store
