// Ends listeners in good order: no new connections, requests in flight finished, all within a
// bound.

#pragma once

#include <functional>
#include <vector>

namespace weir::app {

// Starts one listener's drain; it runs what it is given once the last connection has ended.
using Drain = std::function<void(std::function<void()> done)>;

// Blocks until all have ended. REQUIRES: the loops run; not called on one of them.
void drain_all(const std::vector<Drain>& drains);

}  // namespace weir::app
