// `weir set`, `get`, `reset` and `ban`: a look at one limit or key of a running weir, and a change,
// through its admin API.
//
// THREADS: the main thread's.

#pragma once

#include "app/command_line.h"

namespace weir::app {

int run_set(const SetOptions& options);
int run_get(const GetOptions& options);
int run_reset(const ResetOptions& options);
int run_ban(const BanOptions& options);

}  // namespace weir::app
