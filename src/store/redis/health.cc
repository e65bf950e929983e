#include "store/redis/health.h"

#include <utility>

#include "base/log.h"

namespace weir::store::redis {
namespace {

const std::vector<double>& latency_bounds() {
  static const std::vector<double> bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                          0.01,   0.02,    0.05,   0.1,   0.25,   1.0};
  return bounds;
}

constexpr std::string_view kErrorsName = "weir_store_errors_total";
constexpr std::string_view kErrorsHelp = "Calls of the store that failed, by kind.";
constexpr std::string_view kOps[] = {"charge", "peek", "refund", "take", "renew", "reset"};
constexpr std::string_view kEndings[] = {"refused", "timeout",     "lost",
                                         "unsent",  "unreachable", "foreign"};

// What follows from an outage, from a refusal of one call, and from the outage's end.
struct Consequence {
  std::string_view of_outage;
  std::string_view of_refusal;
  std::string_view of_return;
};

Consequence consequence(Health::Concern concern) {
  switch (concern) {
    case Health::Concern::kDecisions:
      return {"; decisions follow on_error until it is over", "; such decisions follow on_error",
              ""};
    case Health::Concern::kPolicy:
      return {"; changes to the policy are not seen until it is over",
              "; changes to the policy are not seen", "; changes to the policy are seen again"};
    case Health::Concern::kBans:
      return {"; each instance bans for itself until it is over",
              "; each instance bans for itself meanwhile", "; bans are shared again"};
  }
  return {};
}

}  // namespace

Health::Health(metrics::Registry* registry, Concern concern)
    : concern_(concern), registry_(registry) {
  if (registry == nullptr) return;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    seconds_[i] = registry->histogram("weir_store_seconds", "How long the store took to answer.",
                                      latency_bounds(), {{"op", std::string(kOps[i])}});
  }
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    failures_[i] =
        registry->counter(kErrorsName, kErrorsHelp, {{"kind", std::string(kEndings[i])}});
  }
  registry->gauge("weir_store_up", "Whether every node of the store that is in use answers.", {},
                  [this] { return up() ? 1.0 : 0.0; });
}

void Health::node_changed(const Address& address, bool up, const std::string& reason) {
  const std::string name = "redis " + address.to_string();
  trouble(name, !up, reason);
}

void Health::explain(const Address& address, const std::string& reason) {
  const std::string name = "redis " + address.to_string();
  {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(name);
    if (found == states_.end() || found->second.reason == reason) return;
    const bool known = std::exchange(found->second.explained, true);
    found->second.reason = reason;
    if (known) return;
  }
  log::warning(name + ": " + reason);
}

void Health::trouble(std::string_view what, bool begins, const std::string& message) {
  std::string line;
  {
    const std::lock_guard lock(mutex_);
    auto found = states_.find(what);
    if (found == states_.end()) {
      if (!begins) return;
      found = states_.emplace(what, State{}).first;
    }
    State& state = found->second;
    if (begins && ++state.open == 1) {
      state.reason = message;
      line = std::string(what) + ": " + message + std::string(consequence(concern_).of_outage);
    } else if (!begins && state.open > 0 && --state.open == 0) {
      states_.erase(found);
      line = std::string(what) + ": " + (message.empty() ? "is back" : message) +
             std::string(consequence(concern_).of_return);
    }
    down_.store(static_cast<int>(states_.size()), std::memory_order_relaxed);
  }
  if (line.empty()) return;
  if (begins && concern_ != Concern::kDecisions)
    log::warning(line);
  else if (begins)
    log::error(line);
  else
    log::info(line);
}

void Health::on_first_answer(std::function<void()> tell) {
  {
    const std::lock_guard lock(mutex_);
    if (!answered_.load(std::memory_order_relaxed)) {
      tell_ = std::move(tell);
      return;
    }
  }
  tell();
}

void Health::first_answer() {
  std::function<void()> tell;
  {
    const std::lock_guard lock(mutex_);
    if (answered_.exchange(true, std::memory_order_release)) return;
    std::swap(tell, tell_);
  }
  if (tell) tell();
}

std::string Health::reasons() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, state] : states_) {
    if (!text.empty()) text += "; ";
    text += name + ": " + state.reason;
  }
  return text;
}

void Health::refused(const std::string& what, const std::string& error) const {
  std::string line = what + ": " + error;
  line += consequence(concern_).of_refusal;
  log::error(line + " (told once)");
}

void Health::count_error(std::string_view kind) {
  if (registry_ == nullptr) return;
  registry_->counter(kErrorsName, kErrorsHelp, {{"kind", std::string(kind)}}).add();
}

void Health::failed(Ending ending, bool foreign) {
  if (foreign && !foreign_told_.exchange(true, std::memory_order_relaxed)) {
    log::error(
        "redis: a value that weir did not write stands under a limit's key; decisions on it follow "
        "on_error until it is deleted (told once); is store.prefix shared with another program?");
  }
  if (registry_ == nullptr) return;
  failures_[foreign ? failures_.size() - 1 : static_cast<std::size_t>(ending)].add();
}

}  // namespace weir::store::redis
