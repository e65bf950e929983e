#include "serve/gateway/worker.h"

namespace weir::gateway {
namespace {

metrics::Counter message(metrics::Registry& registry, std::string_view name) {
  return registry.counter("weir_messages_total",
                          "WebSocket messages that were looked into, by what became of them.",
                          {{"outcome", std::string(name)}});
}

}  // namespace

Counters::Counters(metrics::Registry& registry, const Clock& clock)
    : requests(registry, "gateway"),
      upstream_fault(
          registry.counter("weir_upstream_faults_total",
                           "Admitted requests that the gateway answered with 502, 503 or 504.")),
      message_allowed(message(registry, "allowed")),
      message_denied(message(registry, "denied")),
      message_unreadable(message(registry, "unreadable")),
      timer(registry, "gateway", clock) {}

const engine::CompiledPolicy& Worker::compiled() {
  std::shared_ptr<const engine::CompiledPolicy> now = engine.current();
  if (now != current_) {
    current_ = std::move(now);
    ++generation_;
    const policy::Policy& policy = current_->policy();
    if (policy.gateway) upstreams.update(*policy.gateway, policy.paths);
  }
  return *current_;
}

}  // namespace weir::gateway
