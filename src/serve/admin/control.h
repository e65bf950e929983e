// Control: what the admin API asks of the program around it: what is in force, and changes to it.
//
// THREADS: any.

#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/time.h"

namespace weir::admin {

// The policy in force.
struct PolicyStatus {
  std::uint64_t generation = 0;      // counts every change of it, from 1
  std::string source;                // where it is kept: a file, etcd://..., redis://...
  std::string hash;                  // "sha256:..." of its text; empty where it has none
  std::int64_t loaded_at_ns = 0;     // Unix time at which it was put in force
  bool persistent = false;           // whether changes made here outlive the program
  std::size_t changes = 0;           // made here and in force
  std::vector<std::string> reasons;  // why the last reload was refused, and what else is wrong
};

// One call about the policy.
struct Change {
  enum class Verb : std::uint8_t {
    kShow,    // changes nothing: the policy in force, as text
    kList,    // changes nothing: what has been changed here
    kBans,    // changes nothing: who is banned
    kReload,  // reads the policy again
    kSet,     // `target` is as `set` says, in place of what was set before
    kRemove,  // `target` is as the policy's own text says
  };

  Verb verb = Verb::kShow;
  std::string who;                  // for the log: the caller's address and name
  std::vector<std::string> target;  // {"limit", NAME}, ...: see app/live/overlay.h
  boost::json::object set;
  std::optional<Duration> lasts;         // of kSet: for how long
  std::optional<std::int64_t> until_ns;  // or until when, Unix time
};

struct Outcome {
  int status = 200;
  std::string detail;                 // what was wrong, or empty
  std::string text;                   // of kShow: YAML, with every default, and secrets as "***"
  std::vector<std::string> mistakes;  // each "file:line:column: what", or "what"
  std::string json;                   // of kList and kBans: the answer

  static Outcome refusal(int status, std::string detail, std::vector<std::string> mistakes = {}) {
    return {status, std::move(detail), {}, std::move(mistakes), {}};
  }
};

class Control {
 public:
  virtual ~Control() = default;

  virtual PolicyStatus status() const = 0;

  // Runs `done` once, later, on any thread.
  using Done = std::function<void(Outcome outcome)>;
  virtual void run(Change change, Done done) = 0;
};

}  // namespace weir::admin
