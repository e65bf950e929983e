// The admin listener: /metrics, /healthz, /readyz, and the admin API (policy_api.h).
//
// /healthz and /readyz are open to all who reach the listener; the rest is open on loopback, and
// beyond it to those who show the token. Changes want the token always.
//
// THREADS: the handler runs on every loop at once; what it is given must allow that.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "serve/admin/control.h"
#include "serve/http/message.h"

namespace weir::admin {

// Whether the program is able to decide, and what an operator should know of it.
struct Readiness {
  bool ready = true;
  PolicyStatus policy;
  std::vector<std::string> reasons;  // why it is not ready, or what is wrong although it is
};

struct Sources {
  const metrics::Registry* registry = nullptr;
  std::function<Readiness()> readiness;
  std::function<std::string()> token;  // the one in force; empty: nobody has one
  Control* control = nullptr;
};

// REQUIRES: what `sources` names outlives the handler.
http::AsyncHandler make_handler(Sources sources);

}  // namespace weir::admin
