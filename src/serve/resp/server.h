// Server: decisions for any Redis client in any language (docs/resp.md).
//
// Every command that one read brought is decided before anything is written, and all replies go
// out in one write, in order, also where some decisions come later than others. Bounded: arguments
// and commands by the parser, replies that nobody reads by `max_unsent`, replies that wait for
// their store by `max_waiting`; past either nothing more is read.
//
// THREADS: as net::Server.

#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/adhoc.h"
#include "engine/engine.h"
#include "net/server.h"
#include "weir/result.h"
#include "wire/resp/command.h"

namespace weir::resp {

struct Options {
  net::ListenOptions listener;
  CommandLimits command;
  std::uint32_t max_unsent = 256 * 1024;
  std::uint32_t max_waiting = 4096;
  Duration idle_timeout = std::chrono::hours(1);        // Redis clients rest for long
  Duration command_timeout = std::chrono::seconds(30);  // from a command's first byte to its last
};

// What the commands work on. All outlive the server.
struct Services {
  engine::Engine& engine;
  engine::Adhoc& adhoc;
  const Clock& clock;
  metrics::Registry& registry;
};

// The password is the policy's in force, so that a reload changes it.
// ERRORS: as net::Server::open. REQUIRES: the loops outlive the server; the engine has a policy.
Result<std::unique_ptr<net::Server>> open(net::Loops& loops, Options options, Services services);

}  // namespace weir::resp
