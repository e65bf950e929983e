// grpc.health.v1.Health.
//
// A server that answers is serving: readiness in more detail stands on the admin listener. A watch
// gets one answer and ends with UNAVAILABLE when the server drains.
//
// THREADS: any.

#pragma once

#include <string>
#include <vector>

#include "serve/grpc/method.h"

namespace weir::grpc {

// `services` are known by name; "" is the server as a whole.
Methods health_methods(std::vector<std::string> services);

}  // namespace weir::grpc
