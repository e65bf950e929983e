// RequestCounters: weir_requests_total of one listener, the requests by what became of them. Each
// is counted once.
//
// THREADS: any.

#pragma once

#include <string>
#include <string_view>

#include "base/metrics.h"
#include "weir/decision.h"

namespace weir::engine {

struct RequestCounters {
  RequestCounters(metrics::Registry& registry, std::string_view listener)
      : allowed(make(registry, listener, "allowed")),
        denied(make(registry, listener, "denied")),
        error(make(registry, listener, "error")) {}

  void count(bool admitted) const { (admitted ? allowed : denied).add(); }
  // A refusal because the store failed is no decision.
  void count(bool admitted, Reason reason) const {
    reason == Reason::kLimiterUnavailable ? error.add() : count(admitted);
  }

  const metrics::Counter allowed;
  const metrics::Counter denied;
  const metrics::Counter error;  // neither: it could not be read or decided, or got no response

 private:
  static metrics::Counter make(metrics::Registry& registry, std::string_view listener,
                               const char* outcome) {
    return registry.counter("weir_requests_total", "Requests by what became of them.",
                            {{"listener", std::string(listener)}, {"outcome", outcome}});
  }
};

}  // namespace weir::engine
