// The overlay of one process, forgotten with it.

#include "app/live/overlay_keeper.h"

namespace weir::app {
namespace {

class HereKeeper final : public OverlayKeeper {
 public:
  bool persistent() const override { return false; }
  void load(Loaded done) override { done(overlay::Entries()); }
  void put(const overlay::Name&, const overlay::Entry&, Stored done) override { done(true); }
  void erase(const overlay::Name&, Stored done) override { done(true); }
  void watch(std::function<void(overlay::Entries)>) override {}  // nobody else changes it
};

}  // namespace

std::unique_ptr<OverlayKeeper> keep_overlay_here() {
  return std::make_unique<HereKeeper>();
}

}  // namespace weir::app
