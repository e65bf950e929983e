// `weir demo`.

#pragma once

#include "app/command_line.h"

namespace weir::app {

int run_demo(const DemoOptions& options);

}  // namespace weir::app
