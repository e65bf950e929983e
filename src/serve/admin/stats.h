// Stats: what the dashboard, `weir top` and scripts are told, as JSON (docs/dashboard.md).
//
// THREADS: the observer's.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/admin/control.h"
#include "serve/admin/events.h"
#include "serve/admin/figures.h"

namespace weir::admin {

// Whether the program is able to decide, and what an operator should know of it.
struct Readiness {
  bool ready = true;
  PolicyStatus policy;
  std::vector<std::string> reasons;  // why it is not ready, or what is wrong although it is
};

struct StoreState {
  std::string kind;  // "memory", or the URL without its password
  bool up = true;
  std::string trouble;  // why it is not up
  std::uint64_t keys = 0;
  std::uint64_t max_keys = 0;  // 0: not known here
  std::uint64_t evictions = 0;
};

// What the program says of itself beside the counters. Each may be asked on any thread.
struct About {
  std::string version;
  std::function<Readiness()> readiness;
  std::function<StoreState()> store;
  std::function<std::vector<std::pair<std::string, std::size_t>>()> connections;  // by listener
  std::function<std::vector<std::pair<std::string, std::uint64_t>>()> inside;     // /debug/stats
};

struct StatsOptions {
  std::size_t limits = 200;     // at most so many, the busiest first
  bool history = true;          // the last hour, and each limit's
  std::uint64_t after = 0;      // events after this number
  std::size_t last_points = 1;  // of the hour, where history is left out
};

std::string render_stats(const Figures& figures, const engine::Engine& engine, const About& about,
                         const Events& events, Instant now, const StatsOptions& options);

}  // namespace weir::admin
