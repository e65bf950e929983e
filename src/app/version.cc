#include "app/version.h"

#include "build_info.h"

namespace weir::app {

std::string version() {
  return WEIR_VERSION;
}

std::string commit() {
  return WEIR_COMMIT;
}

std::string version_line() {
  return "weir " + version() + " (" + commit() + ")";
}

}  // namespace weir::app
