// What `weir --version` and weir_build_info say.

#pragma once

#include <string>

namespace weir::app {

std::string version();       // "0.1.0"
std::string commit();        // "1a2b3c4d5e6f", or "unknown" outside a checkout
std::string version_line();  // "weir 0.1.0 (1a2b3c4d5e6f)"

}  // namespace weir::app
