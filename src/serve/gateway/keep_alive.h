// TCP keep-alive for connections that may be silent for as long as they like. THREADS: any.

#pragma once

#include "net/connection.h"

namespace weir::gateway {

// Looks for a silent peer after a minute, gives it up after another.
void keep_alive(const net::Connection& connection);

}  // namespace weir::gateway
