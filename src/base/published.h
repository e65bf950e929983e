// Published: a shared value that many threads read while one puts another in its place.
//
// WHY not std::atomic<std::shared_ptr>: libstdc++ 12's load() gives the lock inside it back by a
// relaxed write, so that no rule orders its read before the next store(). Who reads often keeps the
// pointer and asks anew when told to.
//
// THREADS: any.

#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace weir {

template <typename T>
class Published {
 public:
  std::shared_ptr<T> load() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

  // The value before goes outside the lock: its end may take long, and may load.
  void store(std::shared_ptr<T> value) {
    const std::lock_guard lock(mutex_);
    value_.swap(value);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<T> value_;
};

}  // namespace weir
