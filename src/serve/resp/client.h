// Client: one connection as commands see it: what it has said of itself, and where replies go.
//
// THREADS: its session's loop.

#pragma once

#include <string>

#include "engine/decision_timer.h"
#include "serve/resp/replies.h"
#include "weir/time.h"
#include "wire/resp/writer.h"

namespace weir::resp {

class Commands;

class Client {
 public:
  virtual ~Client() = default;

  Version version = Version::kResp2;
  bool authenticated = false;  // with the password that was in force then
  bool quitting = false;       // closes once its replies are sent
  std::uint64_t id = 0;
  std::string name;
  Instant now;  // of this turn
  const Commands* commands = nullptr;
  // The decision that is being timed, of at most one at a time.
  std::int64_t timed_since = engine::DecisionTimer::kNotTimed;
  Replies::Place timed_place = 0;
  // A decision is being asked for; still true when the answer comes before the question returns.
  bool asking = false;
  Replies replies;

  // A reply was written to its reserved place: has it sent, unless a turn is under way, which sends
  // at its end. Runs on the loop.
  virtual void on_reply(Replies::Place place) = 0;
};

}  // namespace weir::resp
