// Worker: what the sessions of one loop share, and what all workers count.
//
// THREADS: a worker is its loop's; counters are any thread's.

#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/compiled_policy.h"
#include "engine/decision_timer.h"
#include "engine/engine.h"
#include "engine/request_counters.h"
#include "net/loop.h"
#include "serve/gateway/access_log.h"
#include "serve/gateway/request_id.h"
#include "serve/gateway/upstreams.h"

namespace weir::gateway {

struct Counters {
  Counters(metrics::Registry& registry, const Clock& clock);

  engine::RequestCounters requests;  // allowed: admitted, and its response began
  metrics::Counter upstream_fault;   // of the errors: answered 502, 503 or 504

  // Each message from a client that was looked into is one of these three.
  metrics::Counter message_allowed;
  metrics::Counter message_denied;
  metrics::Counter message_unreadable;  // and refused for it

  engine::DecisionTimer timer;
};

struct Worker {
  Worker(net::Loop& on, engine::Engine& asks, const Clock& reads, const Counters& counts,
         UpstreamBoard& board, AccessLog& writes)
      : loop(on),
        engine(asks),
        clock(reads),
        counters(counts),
        access_log(writes),
        upstreams(on, board) {}

  // The policy in force, with the upstreams brought in line.
  const engine::CompiledPolicy& compiled();
  const policy::Policy& policy() { return compiled().policy(); }
  // How many policies compiled() has found in force so far: tells that it is another one.
  std::uint64_t generation() const { return generation_; }

  net::Loop& loop;
  engine::Engine& engine;
  const Clock& clock;
  const Counters& counters;
  AccessLog& access_log;
  RequestIds request_ids;
  Upstreams upstreams;

 private:
  std::shared_ptr<const engine::CompiledPolicy> current_;
  std::uint64_t generation_ = 0;
};

}  // namespace weir::gateway
