#include "store/redis/client.h"

#include <algorithm>
#include <utility>

#include "net/steady_time.h"
#include "store/redis/refusal.h"
#include "wire/resp/writer.h"

namespace weir::store::redis {

// One call, from run() to its outcome, over all nodes that it is sent to.
struct Client::Attempt {
  ScriptCall call;
  std::string command;  // instead of a script
  Address node;         // that it was last sent to
  int tries = 0;
  bool with_text = false;  // the script's text goes along: the node does not know it
};

Client::Client(net::Loop& loop, const Settings& settings, Health& health)
    : loop_(loop),
      settings_(settings),
      health_(health),
      refresh_timer_(loop.executor()),
      retry_timer_(loop.executor()) {}

Client::~Client() {
  close();
}

void Client::start() {
  if (closed_) return;
  switch (settings_.url.topology) {
    case Topology::kSingle:
      single_ = make_node(settings_.url.addresses.front());
      break;
    case Topology::kSentinel:
      sentinels_ = std::make_unique<SentinelWatch>(
          loop_, settings_, [this](const Address& primary) { use_primary(primary); },
          [this](const Address& sentinel, const std::string& reason) {
            sentinel_failed(sentinel, reason);
          });
      sentinels_->start();
      break;
    case Topology::kCluster:
      for (const Address& seed : settings_.url.addresses) node_at(seed);
      arm_refresh();
      break;
  }
}

void Client::close() {
  if (closed_) return;
  closed_ = true;
  *alive_ = false;
  refresh_timer_.cancel();
  retry_timer_.cancel();
  sentinels_.reset();
  if (single_) single_->close();
  for (const auto& [address, node] : nodes_) node->close();
  for (Attempt* attempt : std::exchange(retries_, {})) {
    finish(attempt, Outcome{Ending::kUnsent});
  }
}

void Client::run(ScriptCall call) {
  auto* attempt = new Attempt;  // owned by the callback it waits for; deleted by finish()
  attempt->call = std::move(call);
  dispatch(attempt);
}

void Client::send(std::string command, std::uint16_t slot, std::int64_t deadline_ns,
                  OnOutcome done) {
  auto* attempt = new Attempt;
  attempt->command = std::move(command);
  attempt->call.slot = slot;
  attempt->call.deadline_ns = deadline_ns;
  attempt->call.done = std::move(done);
  dispatch(attempt);
}

void Client::dispatch(Attempt* attempt) {
  send_to(closed_ ? nullptr : node_for(attempt->call.slot), attempt, false);
}

void Client::send_to(Node* node, Attempt* attempt, bool asking) {
  if (node == nullptr) return finish(attempt, Outcome{Ending::kUnreachable});
  ++attempt->tries;
  attempt->node = node->address();
  out_.clear();
  if (asking) resp::append_command(out_, {"ASKING"});
  const ScriptCall& call = attempt->call;
  if (call.script == nullptr) {
    out_ += attempt->command;
  } else if (attempt->with_text) {
    call.script->append_eval(out_, call.arguments);
  } else {
    call.script->append_evalsha(out_, call.arguments);
  }
  out_ += call.body;
  node->call(out_, asking ? 1 : 0, call.deadline_ns,
             [this, attempt](const Outcome& outcome) { take_outcome(attempt, outcome); });
}

void Client::finish(Attempt* attempt, const Outcome& outcome) {
  const OnOutcome done = std::move(attempt->call.done);
  delete attempt;
  done(outcome);
}

void Client::take_outcome(Attempt* attempt, const Outcome& outcome) {
  if (outcome.ending == Ending::kReply) {
    if (outcome.reply->is_error()) {
      const std::string_view error = outcome.reply->text();
      const Refusal refusal = refusal_of(error);
      if (attempt->call.script != nullptr) note(refusal, attempt->node, std::string(error));
      if (!closed_ && try_again(attempt, refusal, error)) return;
    } else if (attempt->call.fits != nullptr && !attempt->call.fits(*outcome.reply)) {
      mistrust(attempt->node);
      return finish(attempt, Outcome{Ending::kLost});  // it may have run
    } else {
      health_.answered();
    }
  }
  finish(attempt, outcome);
}

// Whether the call has been sent again, or will be.
bool Client::try_again(Attempt* attempt, Refusal refusal, std::string_view error) {
  if (!ran_nothing(refusal) || attempt->tries >= kMaxTries) return false;
  if (attempt->call.deadline_ns <= net::steady_ns()) return false;
  switch (refusal) {
    case Refusal::kNoScript:
      return send_text(attempt);
    case Refusal::kMoved:
    case Refusal::kAsk:
      return follow(attempt, refusal, error);
    case Refusal::kTryAgain:
      return retry_later(attempt);
    default:
      return false;
  }
}

// The same call to the same node with the script's text; without it where the text has just been
// sent there, since calls are answered in order.
bool Client::send_text(Attempt* attempt) {
  if (attempt->with_text) return false;  // the server keeps no scripts
  const std::int64_t now = net::steady_ns();
  std::int64_t& sent = texts_[{attempt->node, attempt->call.script}];
  attempt->with_text = attempt->tries > 1 || now - sent > kTextArrives.count();
  if (attempt->with_text) sent = now;
  send_to(node_at(attempt->node), attempt, false);
  return true;
}

bool Client::follow(Attempt* attempt, Refusal refusal, std::string_view error) {
  auto redirect = redirect_of(error);
  if (!redirect || settings_.url.topology != Topology::kCluster) return false;
  if (redirect->address.host.empty()) redirect->address.host = attempt->node.host;
  Node* node = node_at(redirect->address);
  if (node == nullptr) return false;
  if (refusal == Refusal::kMoved) {
    slots_.move(redirect->slot, redirect->address);
    refresh();
  }
  send_to(node, attempt, refusal == Refusal::kAsk);
  return true;
}

bool Client::retry_later(Attempt* attempt) {
  if (retries_.size() >= kMaxRetries) return false;
  retries_.push_back(attempt);
  arm_retries();
  return true;
}

void Client::arm_retries() {
  if (retries_armed_) return;
  retries_armed_ = true;
  retry_timer_.expires_after(kRetryAfter);
  retry_timer_.async_wait([this, alive = alive_](const net::SystemError& error) {
    if (error || !*alive) return;
    retries_armed_ = false;
    for (Attempt* attempt : std::exchange(retries_, {})) dispatch(attempt);
  });
}

// An answer to some other question: all that follow on this connection may be. Not from within an
// outcome (Node::reconnect).
void Client::mistrust(const Address& address) {
  loop_.post([this, alive = alive_, address] {
    if (!*alive) return;
    if (Node* node = node_at(address)) node->reconnect("an answer did not fit its question");
  });
}

// What a refusal says of the node, beside what becomes of the call.
void Client::note(Refusal refusal, const Address& by, const std::string& error) {
  health_.count_error(to_string(refusal));
  switch (refusal) {
    case Refusal::kReadOnly:
      // Demoted: the connection is ended, and its address looked up again.
      loop_.post([this, alive = alive_, by] {
        if (!*alive) return;
        if (sentinels_) sentinels_->look();
        if (Node* node = node_at(by)) node->reconnect("the server has become a replica");
      });
      refresh();
      break;
    case Refusal::kClusterDown:
      refresh();
      break;
    case Refusal::kMoved:
      if (settings_.url.topology != Topology::kCluster) {
        const std::string name = "redis " + by.to_string() + " answered MOVED";
        if (std::find(troubles_.begin(), troubles_.end(), name) != troubles_.end()) break;
        troubles_.push_back(name);
        health_.trouble(name, true, "it runs in cluster mode; write store.url as redis+cluster://");
      }
      break;
    case Refusal::kForeign:
    case Refusal::kDenied:
    case Refusal::kOther: {
      // Told once for each kind of error of a node.
      const std::string name =
          "redis " + by.to_string() + " answered " + error.substr(0, error.find(' '));
      if (std::find(troubles_.begin(), troubles_.end(), name) != troubles_.end()) break;
      if (troubles_.size() > 32) break;
      troubles_.push_back(name);
      health_.refused(name, error);
      break;
    }
    default:
      break;
  }
}

Node* Client::node_for(std::uint16_t slot) {
  if (settings_.url.topology != Topology::kCluster) return single_.get();
  if (const Address* primary = slots_.primary_of(slot)) return node_at(*primary);
  // Not known yet, or served by nobody: any node knows better.
  for (const auto& [address, node] : nodes_) {
    if (node->ready()) return node.get();
  }
  return nodes_.empty() ? nullptr : nodes_.begin()->second.get();
}

Node* Client::node_at(const Address& address) {
  if (settings_.url.topology != Topology::kCluster) {
    return single_ && single_->address() == address ? single_.get() : nullptr;
  }
  const auto found = nodes_.find(address);
  if (found != nodes_.end()) return found->second.get();
  if (nodes_.size() >= ClusterMap::kMaxNodes) return nullptr;
  return nodes_.emplace(address, make_node(address)).first->second.get();
}

std::shared_ptr<Node> Client::make_node(const Address& address) {
  Node::Events events;
  events.on_ready = [this, alive = alive_, address] {
    if (*alive) node_ready(address);
  };
  events.on_change = [this, alive = alive_, address](bool up, const std::string& reason) {
    if (!*alive) return;
    health_.node_changed(address, up, reason);
    if (!up) node_lost();
  };
  events.on_explained = [this, alive = alive_, address](const std::string& reason) {
    if (*alive) health_.explain(address, reason);
  };
  events.on_lost = [this, alive = alive_](const std::string&) {
    if (*alive) node_lost();
  };
  auto node = std::make_shared<Node>(loop_, settings_.node(address), std::move(events));
  node->start();
  return node;
}

void Client::node_ready(const Address& address) {
  health_.answered();
  if (settings_.url.topology == Topology::kCluster) {
    if (!slots_.known()) refresh();
    return;
  }
  if (!single_ || single_->address() != address || !single_->is_replica()) return;
  // A Sentinel that has not heard of the switch yet, or a replica that somebody named.
  if (sentinels_) sentinels_->look();
}

void Client::node_lost() {
  if (sentinels_) sentinels_->look();
  refresh();
}

// In trouble only while no primary is known: else there are other Sentinels.
void Client::sentinel_failed(const Address& sentinel, const std::string& reason) {
  health_.count_error("sentinel");
  const std::string name = "redis sentinel " + sentinel.to_string();
  if (!single_ && mute_sentinels_.insert(name).second) health_.trouble(name, true, reason);
}

void Client::use_primary(const Address& primary) {
  for (const std::string& name : std::exchange(mute_sentinels_, {})) {
    health_.trouble(name, false, "the primary has been found");
  }
  if (closed_ || (single_ && single_->address() == primary)) return;
  auto before = std::exchange(single_, make_node(primary));
  if (!before) return;
  if (!before->available()) {
    health_.node_changed(before->address(), true, "is no longer the primary");
  }
  before->close();
}

// Asks a node for the slots; soon, where that was done just now.
void Client::refresh() {
  if (settings_.url.topology != Topology::kCluster || closed_) return;
  const std::int64_t now = net::steady_ns();
  if (refreshing_ || now - refreshed_ns_ < kRefreshEvery.count()) {
    wants_refresh_ = true;
    return;
  }
  wants_refresh_ = false;
  Node* node = nullptr;
  std::size_t i = 0;
  for (const auto& [address, candidate] : nodes_) {
    if (!candidate->ready() || !candidate->available()) continue;
    if (node == nullptr || i <= next_seed_) node = candidate.get();
    ++i;
  }
  if (node == nullptr) {
    for (const Address& seed : settings_.url.addresses) node_at(seed);
    wants_refresh_ = true;
    return;
  }
  next_seed_ = i == 0 ? 0 : (next_seed_ + 1) % i;
  refreshing_ = true;
  refreshed_ns_ = now;
  std::string command;
  resp::append_command(command, {"CLUSTER", "SLOTS"});
  node->call(command, 0, now + settings_.connect_timeout.count(),
             [this, alive = alive_, asked = node->address()](const Outcome& outcome) {
               if (*alive) take_slots(asked, outcome);
             });
}

void Client::take_slots(const Address& asked, const Outcome& outcome) {
  refreshing_ = false;
  if (outcome.ending != Ending::kReply || !slots_.update(*outcome.reply, asked)) {
    wants_refresh_ = true;
    return;
  }
  for (const Address& primary : slots_.primaries()) node_at(primary);
  loop_.post([this, alive = alive_] {
    if (*alive) forget_unused_nodes();
  });
}

// Nodes that serve nothing any more and that nobody named go, once nobody waits for them.
void Client::forget_unused_nodes() {
  const auto& primaries = slots_.primaries();
  const auto& seeds = settings_.url.addresses;
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const bool serves = std::find(primaries.begin(), primaries.end(), it->first) != primaries.end();
    const bool named = std::find(seeds.begin(), seeds.end(), it->first) != seeds.end();
    if (!serves && !it->second->available()) {
      health_.node_changed(it->first, true, "serves nothing any more");
      it->second->close();
      it = nodes_.erase(it);
    } else if (!serves && !named && it->second->idle()) {
      it->second->close();
      it = nodes_.erase(it);
    } else {
      ++it;
    }
  }
}

void Client::arm_refresh() {
  refresh_timer_.expires_after(kRefreshEvery);
  refresh_timer_.async_wait([this, alive = alive_](const net::SystemError& error) {
    if (error || !*alive) return;
    arm_refresh();
    const bool old = net::steady_ns() - refreshed_ns_ > kRefreshAlways.count();
    const bool troubled = std::any_of(nodes_.begin(), nodes_.end(),
                                      [](const auto& entry) { return !entry.second->available(); });
    if (wants_refresh_ || old || troubled) refresh();
  });
}

}  // namespace weir::store::redis
