// Worker: what the sessions of one loop share, and what all workers count.
//
// THREADS: a worker is its loop's; counters are any thread's.

#pragma once

#include <memory>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/compiled_policy.h"
#include "engine/decision_timer.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "serve/gateway/upstream.h"

namespace weir::gateway {

struct Counters {
  Counters(metrics::Registry& registry, const Clock& clock);

  // Each request is one of these three.
  metrics::Counter allowed;  // admitted, and its response began
  metrics::Counter denied;
  metrics::Counter error;           // not HTTP or too slow; or admitted, and without a response
  metrics::Counter upstream_fault;  // of those: answered 502, 503 or 504
  engine::DecisionTimer timer;
};

struct Worker {
  Worker(net::Loop& on, engine::Engine& asks, const Clock& reads, const Counters& counts)
      : loop(on), engine(asks), clock(reads), counters(counts), upstreams(on) {}

  // The policy in force, with the upstreams brought in line.
  const policy::Policy& policy();

  net::Loop& loop;
  engine::Engine& engine;
  const Clock& clock;
  const Counters& counters;
  Upstreams upstreams;

 private:
  std::shared_ptr<const engine::CompiledPolicy> current_;
};

}  // namespace weir::gateway
