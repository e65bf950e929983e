// DenialLog: a line for refused requests, at most `log.denials` of them a second; each says how
// many had none since the line before.
//
// What a client sent is quoted (base/log.h) and cut; queries, bodies and headers are never shown,
// but X-Request-Id. Where keys are told as hashes or not at all, addresses and users are left out.
//
// THREADS: any.

#pragma once

#include <atomic>
#include <cstdint>

#include "engine/attributes.h"
#include "engine/engine.h"

namespace weir::app {

class DenialLog {
 public:
  // REQUIRES: the engine outlives it.
  explicit DenialLog(const engine::Engine& engine) : engine_(engine) {}

  void denied(const engine::Attributes& attributes, const engine::Decision& decision);

 private:
  bool may_write(std::int64_t now_ns, std::uint32_t most);

  const engine::Engine& engine_;
  // Relaxed: a line more or less at the turn of a second does no harm.
  std::atomic<std::int64_t> second_{-1};
  std::atomic<std::uint32_t> written_{0};
  std::atomic<std::uint64_t> left_out_{0};
};

}  // namespace weir::app
