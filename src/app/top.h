// `weir top` and `weir keys`: what a running weir sees, through its admin listener.
//
// THREADS: the main thread's.

#pragma once

#include "app/command_line.h"

namespace weir::app {

// Both return the exit code.
int run_top(const TopOptions& options);
int run_keys(const KeysOptions& options);

}  // namespace weir::app
