// WEIR_CHECK: a belief of the programmer that stays checked in release.
//
// Prints expression, belief and place, and aborts. For mistakes of ours only: bad input and failing
// peers are values (weir/result.h).

#pragma once

namespace weir {

[[noreturn]] void check_failed(const char* expression, const char* belief, const char* file,
                               int line);

}  // namespace weir

#define WEIR_CHECK(expression, belief) \
  (static_cast<bool>(expression)       \
       ? static_cast<void>(0)          \
       : ::weir::check_failed(#expression, (belief), __FILE__, __LINE__))
