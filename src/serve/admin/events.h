// Events: the newest changes of state, as they were logged, for those who look later.
//
// THREADS: any.

#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace weir::admin {

struct Event {
  std::uint64_t number = 0;  // one more for each
  std::int64_t unix_ms = 0;
  log::Level level = log::Level::kInfo;
  std::string text;
};

class Events {
 public:
  static constexpr std::size_t kKept = 200;
  static constexpr std::size_t kMaxText = 2000;

  void add(std::int64_t unix_ms, log::Level level, std::string_view text) {
    std::lock_guard lock(mutex_);
    kept_.push_back({++last_, unix_ms, level, std::string(text.substr(0, kMaxText))});
    if (kept_.size() > kKept) kept_.pop_front();
  }

  // Those after number `after`, oldest first.
  std::vector<Event> since(std::uint64_t after) const {
    std::lock_guard lock(mutex_);
    std::vector<Event> out;
    for (const Event& event : kept_) {
      if (event.number > after) out.push_back(event);
    }
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Event> kept_;
  std::uint64_t last_ = 0;
};

}  // namespace weir::admin
