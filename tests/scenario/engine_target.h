// What scenarios run on here: the policy engine over a memory store.
//
// THREADS: one at a time.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "scenario/run.h"
#include "scenario/scenario.h"
#include "store/memory/memory_store.h"

namespace weir::scenario {

// Each limit counts by a header of its own, header.x-NAME, so that a request meets those whose
// header it has.
class EngineTarget final : public Target {
 public:
  explicit EngineTarget(const Scenario& scenario);

  Reply take(std::span<const Met> met, Instant now) override;
  void correct(std::span<const Met> met, Change change, Instant now,
               std::optional<Instant> charged_at) override;
  void reset(std::span<const Met> met) override;

 private:
  void reload_if_changed(std::span<const Met> met);
  void install();

  std::vector<Limit> limits_;
  store::MemoryStore store_;
  engine::Engine engine_{store_};
  std::vector<engine::Decision> charged_;  // all that were admitted
};

}  // namespace weir::scenario
