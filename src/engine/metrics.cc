#include "engine/metrics.h"

namespace weir::engine {
namespace {

// Waits from a tenth of a second to a day.
const std::vector<double> kWaitBounds = {0.1, 0.25, 0.5, 1,   2.5,  5,     10,
                                         30,  60,   300, 900, 3600, 21600, 86400};

constexpr std::string_view kOutcomeNames[] = {"allowed", "denied", "passed", "shadow_denied"};

}  // namespace

LimitCounters::LimitCounters(metrics::Registry& registry, std::string_view limit)
    : registry_(registry),
      limit_(limit),
      retry_after_(registry.histogram("weir_retry_after_seconds",
                                      "How long refused calls were told to wait.", kWaitBounds,
                                      {{"limit", limit_}})) {}

void LimitCounters::count(const Verdict& verdict, Source source, bool shadow, bool admitted) {
  if (verdict.allowed()) {
    counter(admitted ? kAllowed : kPassed, source).add();
    return;
  }
  counter(shadow ? kShadowDenied : kDenied, source).add();
  const bool has_wait = verdict.outcome == weir::Outcome::kDenied && verdict.retry_known;
  if (!shadow && has_wait) retry_after_.observe(verdict.retry_after);
}

metrics::Counter LimitCounters::counter(Outcome outcome, Source source) {
  auto& slot = slots_[outcome * kSources + static_cast<std::size_t>(source)];
  const std::uint32_t known = slot.load(std::memory_order_relaxed);
  if (known != 0) return metrics::Counter(known - 1);
  const metrics::Counter made =
      registry_.counter("weir_decisions_total", "Each limit that a request met, once, by outcome.",
                        {{"limit", limit_},
                         {"outcome", std::string(kOutcomeNames[outcome])},
                         {"source", std::string(to_string(source))}});
  slot.store(made.slot() + 1, std::memory_order_relaxed);
  return made;
}

}  // namespace weir::engine
