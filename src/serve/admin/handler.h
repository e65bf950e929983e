// Admin: what the admin listener serves: metrics, health, what is seen now (/v1/stats, /v1/stream),
// the dashboard, a look inside for who mends (/debug/), and the admin API (policy_api.h).
//
// /healthz, /readyz and the dashboard's own files are open to all who reach the listener; the rest
// is open on loopback, and beyond it to those who show the token. Changes want the token always.
//
// THREADS: the routes run on every loop at once; what it is given must allow that.

#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "serve/admin/control.h"
#include "serve/admin/events.h"
#include "serve/admin/figures.h"
#include "serve/admin/observer.h"
#include "serve/admin/router.h"
#include "serve/admin/stats.h"
#include "serve/admin/stream.h"

namespace weir::admin {

struct Sources {
  const metrics::Registry* registry = nullptr;
  engine::Engine* engine = nullptr;
  const Clock* clock = nullptr;
  const Events* events = nullptr;
  Control* control = nullptr;          // answers the admin API (policy_api.h)
  std::function<std::string()> token;  // the one in force; empty: nobody has one
  About about;
};

class Admin {
 public:
  // Begins to look, on a thread of its own. REQUIRES: what `sources` names outlives this, and the
  // engine has a policy.
  explicit Admin(Sources sources);

  // REQUIRES: this outlives the loops' threads.
  http::AsyncHandler handler();

 private:
  void tick(Instant now);
  std::string stats(const StatsOptions& options) const;
  void add_routes(Router& router);
  void add_health(Router& router);
  void add_metrics(Router& router);
  void add_stats(Router& router);
  void add_debug(Router& router);

  const Sources sources_;
  Figures figures_;  // the observer's
  std::uint64_t last_event_ = 0;
  StreamHub hub_;
  Observer observer_;  // the last: its thread uses all above
};

}  // namespace weir::admin
