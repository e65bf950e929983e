// BanLog: tells of bans that begin here: a line of the log for each, at most ten a second, and
// weir_bans_total. A key is told as `metrics.keys` has it.
//
// THREADS: any.

#pragma once

#include "app/line_budget.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "engine/ban_book.h"
#include "engine/engine.h"

namespace weir::app {

class BanLog {
 public:
  // REQUIRES: what is given outlives it.
  BanLog(const engine::Engine& engine, const Clock& clock, metrics::Registry& registry);

  void begun(const engine::Banned& banned);

 private:
  static constexpr std::uint32_t kMaxLines = 10;

  const engine::Engine& engine_;
  const Clock& clock_;
  metrics::Registry& registry_;
  LineBudget lines_;
};

}  // namespace weir::app
