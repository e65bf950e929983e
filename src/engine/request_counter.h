// weir_requests_total: requests of one listener by what became of them.
//
// THREADS: any.

#pragma once

#include <string>
#include <string_view>

#include "base/metrics.h"

namespace weir::engine {

// `outcome`: "allowed", "denied" or "error".
inline metrics::Counter request_counter(metrics::Registry& registry, std::string_view listener,
                                        std::string_view outcome) {
  return registry.counter("weir_requests_total", "Requests by what became of them.",
                          {{"listener", std::string(listener)}, {"outcome", std::string(outcome)}});
}

}  // namespace weir::engine
