// OverlayKeeper: where an overlay is kept, so that it outlives the program or reaches a fleet.
//
// THREADS: the control loop's.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/live/overlay.h"
#include "net/loop.h"
#include "weir/result.h"

namespace weir::app {

class OverlayKeeper {
 public:
  using Loaded = std::function<void(Result<overlay::Entries> entries)>;
  using Stored = std::function<void(const Result<bool>& stored)>;

  virtual ~OverlayKeeper() = default;

  // Whether what is kept outlives the program.
  virtual bool persistent() const = 0;
  // All of these run what they are given once, before they return or later.
  virtual void load(Loaded done) = 0;
  virtual void put(const overlay::Name& name, const overlay::Entry& entry, Stored done) = 0;
  virtual void erase(const overlay::Name& name, Stored done) = 0;
  // From now on tells all entries whenever another instance may have changed some.
  virtual void watch(std::function<void(overlay::Entries)> changed) = 0;
};

// In a file, which is written anew with each change; with no name, in this process alone.
std::unique_ptr<OverlayKeeper> keep_overlay_in_file(std::string file);

}  // namespace weir::app
