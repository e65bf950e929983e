#include "serve/gateway/health.h"

#include <algorithm>
#include <utility>

namespace weir::gateway {

bool Health::lend(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (!ejected_ || unhealthy_ || now_ns < lend_at_ns_) return false;
  // A term on: should nobody hear what became of this one, as when its client leaves, another is
  // lent then.
  lend_at_ns_ = now_ns + term_.count();
  lent_ = true;
  return true;
}

Health::Change Health::failed(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (ejected_) {
    // Others were under way when it was put out, or tried it since all are out: no news.
    if (std::exchange(lent_, false)) {
      term_ = std::min(2 * term_, eject_.max_time);
      lend_at_ns_ = now_ns + term_.count();
    }
    return Change::kNone;
  }
  ++failures_;
  if (eject_.failures != 0 && failures_ >= eject_.failures) {
    ejected_ = true;
    lent_ = false;
    term_ = eject_.base_time;
    lend_at_ns_ = now_ns + term_.count();
  }
  return publish();
}

Health::Change Health::recover() {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
  ejected_ = false;
  return publish();
}

Health::Change Health::checked(bool passed) {
  const std::lock_guard lock(mutex_);
  if (passed != unhealthy_) {
    checks_ = 0;
    return Change::kNone;
  }
  const std::uint32_t wanted = passed ? check_->healthy_after : check_->unhealthy_after;
  if (++checks_ < wanted) return Change::kNone;
  checks_ = 0;
  unhealthy_ = !passed;
  return publish();
}

Duration Health::term() const {
  const std::lock_guard lock(mutex_);
  return term_;
}

// REQUIRES: the lock.
Health::Change Health::publish() {
  troubled_.store(failures_ != 0 || ejected_, std::memory_order_relaxed);
  const bool out = ejected_ || unhealthy_;
  if (out_.exchange(out, std::memory_order_relaxed) == out) return Change::kNone;
  return out ? Change::kOut : Change::kBack;
}

}  // namespace weir::gateway
