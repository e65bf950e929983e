#include "limit/window.h"

#include <string>

#include "limit/state.h"

namespace weir::limit {

std::optional<Error> check_window(Duration window, std::int64_t windows) {
  if (window.count() <= 0) {
    return Error{ErrorCode::kInvalid,
                 "a window of " + std::to_string(window.count()) + "ns, must be more than 0"};
  }
  const std::int64_t largest = kMaxSpanNs / windows;
  if (window.count() > largest) {
    return Error{ErrorCode::kInvalid,
                 "a window of " + std::to_string(window.count()) +
                     "ns takes more than 100 years to be empty again; the largest is " +
                     std::to_string(largest) + "ns"};
  }
  return std::nullopt;
}

}  // namespace weir::limit
