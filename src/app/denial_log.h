// DenialLog: a line for refused requests, at most `log.denials` of them a second; each says how
// many had none since the line before.
//
// What a client sent is quoted (base/log.h) and cut; queries, bodies and headers are never shown,
// but X-Request-Id. Where keys are told as hashes or not at all, addresses and users are left out.
//
// THREADS: any.

#pragma once

#include "app/line_budget.h"
#include "engine/attributes.h"
#include "engine/engine.h"

namespace weir::app {

class DenialLog {
 public:
  // REQUIRES: the engine outlives it.
  explicit DenialLog(const engine::Engine& engine) : engine_(engine) {}

  void denied(const engine::Attributes& attributes, const engine::Decision& decision);

 private:
  const engine::Engine& engine_;
  LineBudget lines_;
};

}  // namespace weir::app
