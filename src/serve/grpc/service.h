// All methods that the gRPC listener offers.
//
// THREADS: any.

#pragma once

#include "serve/grpc/method.h"
#include "serve/grpc/rate_limiter.h"

namespace weir::grpc {

// REQUIRES: `limiter` outlives the methods.
Methods all_methods(const RateLimiter& limiter);

}  // namespace weir::grpc
