// EngineCore: what stands behind the public Engine: a policy engine over a memory store.
//
// THREADS: as the public class.

#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "engine/receipt.h"
#include "engine/sent_attributes.h"
#include "policy/load.h"
#include "store/memory/memory_store.h"
#include "weir/engine.h"

namespace weir::library {

// What stands behind a public decision.
struct Decided {
  explicit Decided(engine::Decision made) : decision(std::move(made)) {}

  // Made when it is first asked for: most decisions are never corrected.
  const engine::Receipt& receipt();

  const engine::Decision decision;

 private:
  std::once_flag asked_;
  engine::Receipt receipt_;
};

class EngineCore {
 public:
  // ERRORS: as Engine::from_file().
  static Result<std::unique_ptr<EngineCore>> make(policy::Loaded loaded,
                                                  const EngineOptions& options);

  void check(std::span<const AttributeValue> attributes, std::optional<std::uint64_t> cost,
             std::optional<Instant> now, const weir::Engine::Done& done);
  Result<bool> reload(policy::Loaded loaded);

  // What engine::Engine says by these names; nothing for a decision that charged nothing.
  using Correct = void (engine::Engine::*)(const engine::Receipt&, Instant,
                                           engine::Engine::Corrected);
  store::Correction correct(const weir::Decision& decision, std::optional<Instant> now,
                            Correct how);
  store::Correction settle(const weir::Decision& decision, std::uint64_t cost,
                           std::optional<Instant> now);
  static const engine::Receipt* receipt_of(const weir::Decision& decision);

  // Reads attributes as the policy in force has them. What is wrong, or nothing.
  std::optional<Error> read(std::span<const AttributeValue> attributes,
                            engine::SentAttributes& out) const;
  static weir::Decision shown(engine::Decision decision);
  engine::Engine& engine() { return engine_; }
  const Clock& clock() const { return clock_; }

 private:
  EngineCore(std::size_t max_keys, const Clock& clock);

  store::MemoryStore store_;
  engine::Engine engine_;
  std::mutex installing_;
  const Clock& clock_;
};

}  // namespace weir::library
