// Health: what all loops of a process know of the store's nodes, so that each change of state is
// logged once, and counted.
//
// THREADS: any.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "store/redis/pipeline.h"
#include "store/redis/url.h"

namespace weir::store::redis {

class Health {
 public:
  // What stands still while the store does not answer. Only decisions are an error: whoever keeps
  // the policy or bans in the same server is not told of one outage as if it were two.
  enum class Concern : std::uint8_t { kDecisions, kPolicy, kBans };

  // REQUIRES: the registry, where given, outlives this and all that counts by it.
  explicit Health(metrics::Registry* registry, Concern concern = Concern::kDecisions);

  // One loop's breaker for a node has opened, or closed. The first to open and the last to close
  // are logged, with the reason, where there is one for the latter.
  void node_changed(const Address& address, bool up, const std::string& reason);
  // A better reason for a node that is taken for dead than the silence that was noticed first.
  void explain(const Address& address, const std::string& reason);
  // Something that is not about one node, logged when it begins, and when it is over.
  void trouble(std::string_view what, bool begins, const std::string& message);

  // An answer of any node.
  void answered() {
    if (!answered_.load(std::memory_order_relaxed)) first_answer();
  }
  bool has_answered() const { return answered_.load(std::memory_order_acquire); }
  // Runs `tell` at the first answer, on the thread that got it; at once where that has been.
  void on_first_answer(std::function<void()> tell);

  // No node is taken for dead, and nothing is in trouble.
  bool up() const { return down_.load(std::memory_order_relaxed) == 0; }
  std::string reasons() const;  // why not, a line

  // Logs a refusal that nothing heals. `what`: the node and the kind of refusal, of which this is
  // the first.
  void refused(const std::string& what, const std::string& error) const;

  void count_error(std::string_view kind);
  // A call that ended without an outcome.
  void failed(Ending ending, bool foreign);
  // How long the store took to answer, or not to. A peek is a charge of nothing.
  enum class Op : std::uint8_t { kCharge, kPeek, kRefund, kTake, kRenew, kReset };
  void took(Op op, Duration duration) const {
    seconds_[static_cast<std::size_t>(op)].observe(duration);
  }

 private:
  struct State {
    int open = 0;  // breakers
    std::string reason;
    bool explained = false;
  };

  void first_answer();

  const Concern concern_;
  metrics::Registry* const registry_;
  std::array<metrics::Histogram, 6> seconds_;  // by Op
  std::array<metrics::Counter, 6> failures_;   // by Ending; the last: foreign values
  std::atomic<int> down_{0};                   // relaxed: a figure, ordered by nothing
  std::atomic<bool> foreign_told_{false};      // relaxed: one more line would do no harm
  std::atomic<bool> answered_{false};          // release and acquire: what `tell` did is seen
  mutable std::mutex mutex_;
  std::map<std::string, State, std::less<>> states_;  // of nodes by address, of trouble by name
  std::function<void()> tell_;
};

}  // namespace weir::store::redis
