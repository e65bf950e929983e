// `weir serve`: runs until a signal ends it.

#pragma once

#include "app/command_line.h"

namespace weir::app {

int run_serve(const ServeOptions& options);

}  // namespace weir::app
