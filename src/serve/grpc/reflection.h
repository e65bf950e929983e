// grpc.reflection, v1 and v1alpha: a generic client lists our services and learns their messages.
//
// THREADS: any.

#pragma once

#include <string>
#include <vector>

#include "serve/grpc/method.h"

namespace weir::grpc {

// `services`: the full names that are listed.
Methods reflection_methods(std::vector<std::string> services);

}  // namespace weir::grpc
