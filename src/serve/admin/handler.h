// The admin listener: /metrics, /healthz, /readyz.
//
// /healthz and /readyz are open to all who reach the listener; the rest is open on loopback, and
// beyond it to those who show the token.
//
// THREADS: the handler runs on every loop at once; what it is given must allow that.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "serve/http/message.h"

namespace weir::admin {

// Whether the program is able to decide, and what an operator should know of it.
struct Readiness {
  bool ready = true;
  std::uint64_t generation = 0;      // of the policy in force
  std::string policy;                // its file
  std::vector<std::string> reasons;  // why it is not ready, or what is wrong although it is
};

struct Sources {
  const metrics::Registry* registry = nullptr;
  std::function<Readiness()> readiness;
  std::function<std::string()> token;  // the one in force; empty: none is needed
};

// REQUIRES: what `sources` names outlives the handler.
http::Handler make_handler(Sources sources);

}  // namespace weir::admin
