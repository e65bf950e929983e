// `weir top` and `weir keys`: what a running weir sees, through its admin listener.
//
// THREADS: the main thread's.

#pragma once

#include "app/command_line.h"
#include "tools/admin_client.h"
#include "weir/result.h"

namespace weir::app {

// The client for these options; the token may stand in WEIR_ADMIN_TOKEN. ERRORS: kInvalid: the URL,
// or a file of TLS.
Result<tools::AdminClient> client_for(const AdminOptions& options);

// Both return the exit code.
int run_top(const TopOptions& options);
int run_keys(const KeysOptions& options);

}  // namespace weir::app
