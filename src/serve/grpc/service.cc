#include "serve/grpc/service.h"

#include <iterator>

#include "serve/grpc/health.h"
#include "serve/grpc/reflection.h"

namespace weir::grpc {

Methods all_methods(const RateLimiter& limiter) {
  const std::string rate_limit(kRateLimitService);
  Methods methods{rate_limit_method(limiter)};
  const auto add = [&](Methods more) {
    std::move(more.begin(), more.end(), std::back_inserter(methods));
  };
  // "ratelimit" is the name that Envoy's own service goes by.
  add(health_methods({rate_limit, "ratelimit"}));
  add(reflection_methods({rate_limit, "grpc.health.v1.Health",
                          "grpc.reflection.v1.ServerReflection",
                          "grpc.reflection.v1alpha.ServerReflection"}));
  return methods;
}

}  // namespace weir::grpc
