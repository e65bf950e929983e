#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void check_failed(const char* expression, const char* belief, const char* file, int line) {
  std::fprintf(stderr, "CHECK failed: %s in %s:%d. %s\n", expression, file, line, belief);
  std::abort();
}

}  // namespace weir
