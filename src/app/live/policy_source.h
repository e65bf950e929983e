// PolicySource: where the policy is kept, and how its changes are seen.
//
// THREADS: the control loop's.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/live/overlay_keeper.h"
#include "net/loop.h"
#include "policy/load.h"
#include "weir/result.h"

namespace weir::app {

class PolicySource {
 public:
  using Read = std::function<void(Result<policy::PolicyText> text)>;

  virtual ~PolicySource() = default;

  virtual const std::string& name() const = 0;  // safe to show: no password
  // Reads what is kept now; `done` runs once, before this returns or later.
  virtual void read(Read done) = 0;
  // From now on runs `changed` whenever another text may be kept.
  virtual void watch(std::function<void()> changed) = 0;

  // Where changes made while it is in force are kept beside it; null: nowhere.
  virtual std::unique_ptr<OverlayKeeper> overlay() { return nullptr; }
  // A place that may not answer, so that a copy of what it had is worth keeping.
  virtual bool is_remote() const { return false; }
};

// ERRORS: kInvalid, naming the part of `where` that is wrong.
Result<std::unique_ptr<PolicySource>> open_policy_source(net::Loop& loop, const std::string& where);

}  // namespace weir::app
