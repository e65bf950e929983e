// AtRest: things that a thread has used and may use again, so that their memory is not given back
// and asked for with every request.
//
// Holds at most kMax; more are freed. THREADS: each has its own.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace weir {

// REQUIRES: T is made without arguments, and nothing but its memory outlasts T::clear().
template <typename T, std::size_t kMax = 64>
class AtRest {
 public:
  static std::unique_ptr<T> take() {
    auto& kept = of_this_thread();
    if (kept.empty()) return std::make_unique<T>();
    auto thing = std::move(kept.back());
    kept.pop_back();
    return thing;
  }

  static void give(std::unique_ptr<T> thing) {
    auto& kept = of_this_thread();
    if (kept.size() == kMax) return;
    thing->clear();
    kept.push_back(std::move(thing));
  }

  // Those of this thread.
  static void free_all() { of_this_thread().clear(); }

 private:
  static std::vector<std::unique_ptr<T>>& of_this_thread() {
    static thread_local std::vector<std::unique_ptr<T>> kept;
    return kept;
  }
};

}  // namespace weir
