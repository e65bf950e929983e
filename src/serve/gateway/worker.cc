#include "serve/gateway/worker.h"

namespace weir::gateway {
namespace {

metrics::Counter outcome(metrics::Registry& registry, std::string_view name) {
  return registry.counter("weir_requests_total", "Requests by listener and outcome.",
                          {{"listener", "gateway"}, {"outcome", std::string(name)}});
}

}  // namespace

Counters::Counters(metrics::Registry& registry)
    : allowed(outcome(registry, "allowed")),
      denied(outcome(registry, "denied")),
      invalid(outcome(registry, "invalid")),
      upstream_fault(
          registry.counter("weir_upstream_faults_total",
                           "Admitted requests that the gateway answered with 502, 503 or 504.")),
      client_gone(registry.counter(
          "weir_broken_exchanges_total",
          "Admitted requests whose client left, or whose response was cut short.")) {}

const policy::Policy& Worker::policy() {
  std::shared_ptr<const engine::CompiledPolicy> now = engine.current();
  if (now != current_) {
    current_ = std::move(now);
    const policy::Policy& policy = current_->policy();
    if (policy.gateway) upstreams.update(policy.gateway->upstreams);
  }
  return current_->policy();
}

}  // namespace weir::gateway
