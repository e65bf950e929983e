#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "base/log.h"

namespace weir {

void check_failed(const char* expression, const char* belief, const char* file, int line) {
  log::flush();  // what led to it
  std::fprintf(stderr, "CHECK failed: %s in %s:%d. %s\n", expression, file, line, belief);
  std::abort();
}

}  // namespace weir
