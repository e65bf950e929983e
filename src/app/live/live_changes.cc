// What the admin API and the rest of a fleet change of the policy in force.

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "app/live/live_policy.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/ban_book.h"
#include "engine/compiled_policy.h"
#include "engine/key.h"
#include "policy/print.h"
#include "serve/admin/policy_api.h"

namespace weir::app {
namespace {

constexpr std::size_t kMaxBansShown = 1000;  // of those that limits have made

// Who made a change, when, and until when; ends its object.
void append_origin(std::string& out, const overlay::Entry& entry) {
  out += ",\"who\":";
  append_json_string(out, entry.who);
  out += ",\"at\":\"" + admin::utc(entry.at_ns) + '"';
  if (entry.until_ns) out += ",\"expires\":\"" + admin::utc(*entry.until_ns) + '"';
  out += '}';
}

// `plain`: whether the key may be told.
void append_ban(std::string& out, const engine::Banned& ban, bool plain, Instant now) {
  out += "{\"limit\":";
  append_json_string(out, ban.limit);
  if (plain) {
    out += ",\"key\":[";
    for (const auto& [attribute, value] : engine::key_parts(ban.key)) {
      if (out.back() != '[') out += ',';
      append_json_string(out, value);
    }
    out += ']';
  }
  out += ",\"times\":" + std::to_string(ban.times) + ",\"expires\":\"" +
         admin::utc(now.wall_ns + ban.left.count()) + "\"}";
}

}  // namespace

void LivePolicy::obey(admin::Change change, const Done& done) {
  using Verb = admin::Change::Verb;
  if (change.verb == Verb::kShow) {
    return done({200, "", policy::print_yaml(services_->engine.current()->policy()), {}, {}});
  }
  if (change.verb == Verb::kList) return done(list());
  if (change.verb == Verb::kBans) return done(bans());
  if (change.verb == Verb::kReload)
    return reload("POST /v1/policy:reload from " + change.who, done);
  if (!base_.tree) {
    return done(admin::Outcome::refusal(
        409, "the policy came from the command line: write it to a file to change it"));
  }
  change.target = overlay::target(base_.policy, entries_, change.target);
  change.verb == Verb::kSet ? set(change, done) : remove(change, done);
}

void LivePolicy::set(const admin::Change& change, const Done& done) {
  const std::int64_t now_ns = services_->clock.now().wall_ns;
  overlay::Entry entry{change.set, change.who, now_ns, change.until_ns};
  if (change.lasts) entry.until_ns = now_ns + change.lasts->count();
  if (!entry.holds(now_ns)) {
    const std::string field = change.target[0] == "ban" ? "for" : "expires";
    return done(admin::Outcome::refusal(
        422, field + " is over already, wants a duration such as 60s, or a Unix time to come"));
  }
  const auto mistakes = overlay::check(base_.policy, *base_.tree, entries_, change.target, entry);
  if (!mistakes) return done(admin::Outcome::refusal(404, mistakes.error().message));
  if (!mistakes->empty()) {
    return done(admin::Outcome::refusal(422, "the change is refused", *mistakes));
  }
  if (entries_.size() >= overlay::kMax && !entries_.contains(change.target)) {
    return done(admin::Outcome::refusal(409, "there are " + std::to_string(overlay::kMax) +
                                                 " changes already: write some into the policy"));
  }
  keeper_->put(change.target, entry, [this, change, entry, done](const Result<bool>& kept) {
    stored(change, entry, kept, done);
  });
}

void LivePolicy::remove(const admin::Change& change, const Done& done) {
  if (!entries_.contains(change.target)) {
    return done(admin::Outcome::refusal(404, "nothing is changed there"));
  }
  keeper_->erase(change.target, [this, change, done](const Result<bool>& kept) {
    stored(change, std::nullopt, kept, done);
  });
}

// `entry`: what is there now, once it is kept where it shall outlive the program.
//
// WHY it waits for others that are there already: to put a policy in force costs the same for one
// change and for many.
void LivePolicy::stored(const admin::Change& change, std::optional<overlay::Entry> entry,
                        const Result<bool>& stored, const Done& done) {
  if (!stored) {
    return done(admin::Outcome::refusal(
        503, "the change could not be kept, and is not in force: " + stored.error().message));
  }
  waiting_.push_back(
      {change.target, change.who, exchange_entry(change.target, entry), entry, done});
  if (waiting_.size() == 1) loop_.post([this] { put_in_force(std::exchange(waiting_, {})); });
}

// What was there before.
std::optional<overlay::Entry> LivePolicy::exchange_entry(
    const overlay::Name& target, const std::optional<overlay::Entry>& entry) {
  std::optional<overlay::Entry> before;
  const auto found = entries_.find(target);
  if (found != entries_.end()) before = std::move(found->second);
  if (entry) {
    entries_.insert_or_assign(target, *entry);
  } else {
    entries_.erase(target);
  }
  return before;
}

// Where they cannot be held together, each that cannot be held with those before it is refused.
void LivePolicy::put_in_force(std::vector<Waiting> changes) {
  const Result<bool> installed = install_whole(entries_);
  if (installed) {
    for (const Waiting& one : changes) tell_in_force(one);
    return arm_expiry();
  }
  for (auto one = changes.rbegin(); one != changes.rend(); ++one) {
    exchange_entry(one->target, one->before);
  }
  if (changes.size() == 1) return take_back(changes.front(), installed.error());
  for (Waiting& one : changes) {
    one.before = exchange_entry(one.target, one.entry);
    put_in_force({one});
  }
}

void LivePolicy::tell_in_force(const Waiting& change) {
  const policy::KeyForm keys = base_.policy.metrics.keys;
  std::string what = (change.entry ? "set " : "removed ") + overlay::told(change.target, keys);
  if (change.entry) what += " " + overlay::told(change.target, *change.entry, keys);
  log::info("change: " + what + ", by: " + change.who);
  change.done({});
}

// It is kept already, and shall not come back with the next start.
void LivePolicy::take_back(const Waiting& change, const Error& why) {
  const auto told = [](const Result<bool>& kept) {
    if (!kept) log::error("change: one that was refused is still kept: " + kept.error().message);
  };
  if (change.before) {
    keeper_->put(change.target, *change.before, told);
  } else {
    keeper_->erase(change.target, told);
  }
  change.done(admin::Outcome::refusal(422, "the change is refused", {why.message}));
}

// What another instance may have changed. WHY it is kept where it cannot be in force: it holds for
// the fleet, and the next policy here is put in force with it.
void LivePolicy::take_entries(overlay::Entries entries) {
  if (entries == entries_) return;
  entries_ = std::move(entries);
  arm_expiry();
  const Result<bool> installed = install(base_, entries_, /*news=*/true);
  if (!installed) {
    return log::error("change: what the fleet has changed waits for the next policy: " +
                      installed.error().message);
  }
  log::info("change: the fleet has changed the policy, generation " +
            std::to_string(status().generation));
}

// WHY a look each second and not a timer to the moment: it is a moment of the wall clock, which can
// be set.
void LivePolicy::arm_expiry() {
  const bool any = std::any_of(entries_.begin(), entries_.end(),
                               [](const auto& one) { return one.second.until_ns.has_value(); });
  if (!any) return;
  expiry_.expires_after(kExpiryEvery);
  expiry_.async_wait([this](const net::SystemError& error) {
    if (!error) on_expiry();
  });
}

void LivePolicy::on_expiry() {
  const std::int64_t now_ns = services_->clock.now().wall_ns;
  overlay::Entries left = entries_;
  for (const auto& [name, entry] : entries_) {
    if (entry.holds(now_ns)) continue;
    log::info("change: " + overlay::told(name, base_.policy.metrics.keys) + " has expired");
    keeper_->erase(name, [](const Result<bool>&) {});
    left.erase(name);
  }
  if (left.size() != entries_.size()) {
    entries_ = std::move(left);
    const Result<bool> installed = install(base_, entries_, /*news=*/true);
    if (!installed) log::error("change: cannot be taken back: " + installed.error().message);
  }
  arm_expiry();
}

admin::Outcome LivePolicy::list() const {
  admin::Outcome outcome;
  outcome.json = "{\"changes\":[";
  for (const auto& [name, entry] : entries_) {
    if (outcome.json.back() != '[') outcome.json += ',';
    outcome.json +=
        "{\"target\":" + overlay::to_text(name) + ",\"set\":" + boost::json::serialize(entry.set);
    append_origin(outcome.json, entry);
  }
  outcome.json += "]}\n";
  return outcome;
}

// Those of the admin API, and the keys that limits have banned.
admin::Outcome LivePolicy::bans() const {
  admin::Outcome outcome;
  outcome.json = "{\"bans\":[";
  for (const auto& [name, entry] : entries_) {
    if (name[0] != "ban") continue;
    if (outcome.json.back() != '[') outcome.json += ',';
    outcome.json += "{\"match\":" + boost::json::serialize(entry.set);
    append_origin(outcome.json, entry);
  }
  const Instant now = services_->clock.now();
  const auto banned = services_->engine.bans().list(now);
  const auto policy = services_->engine.current();
  const bool plain = policy->policy().metrics.keys == policy::KeyForm::kPlain;
  for (std::size_t i = 0; i < std::min(banned.size(), kMaxBansShown); ++i) {
    if (outcome.json.back() != '[') outcome.json += ',';
    append_ban(outcome.json, banned[i], plain, now);
  }
  outcome.json += "],\"banned_keys\":" + std::to_string(banned.size()) + "}\n";
  return outcome;
}

}  // namespace weir::app
