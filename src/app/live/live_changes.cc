// What the admin API and the rest of a fleet change of the policy in force.

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "app/live/live_policy.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/compiled_policy.h"
#include "policy/print.h"
#include "serve/admin/policy_api.h"

namespace weir::app {

void LivePolicy::obey(admin::Change change, const Done& done) {
  using Verb = admin::Change::Verb;
  if (change.verb == Verb::kShow) {
    return done({200, "", policy::print_yaml(services_->engine.current()->policy()), {}, {}});
  }
  if (change.verb == Verb::kList) return done(list());
  if (change.verb == Verb::kReload)
    return reload("POST /v1/policy:reload from " + change.who, done);
  if (!base_.tree) {
    return done(admin::Outcome::refusal(
        409, "the policy came from the command line: write it to a file to change it"));
  }
  change.verb == Verb::kSet ? set(change, done) : remove(change, done);
}

void LivePolicy::set(const admin::Change& change, const Done& done) {
  const std::int64_t now_ns = services_->clock.now().wall_ns;
  overlay::Entry entry{change.set, change.who, now_ns, change.until_ns};
  if (change.lasts) entry.until_ns = now_ns + change.lasts->count();
  if (!entry.holds(now_ns)) {
    return done(admin::Outcome::refusal(422, "expires is over already, wants a moment to come"));
  }
  const auto mistakes = overlay::check(base_.policy, *base_.tree, entries_, change.target, entry);
  if (!mistakes) return done(admin::Outcome::refusal(404, mistakes.error().message));
  if (!mistakes->empty()) {
    return done(admin::Outcome::refusal(422, "the change is refused", *mistakes));
  }
  overlay::Entries next = entries_;
  next.insert_or_assign(change.target, entry);
  if (next.size() > overlay::kMost) {
    return done(admin::Outcome::refusal(409, "there are " + std::to_string(overlay::kMost) +
                                                 " changes already: write some into the policy"));
  }
  keeper_->put(change.target, entry, [this, next, change, done](const Result<bool>& kept) {
    stored(next, change, kept, done);
  });
}

void LivePolicy::remove(const admin::Change& change, const Done& done) {
  overlay::Entries next = entries_;
  if (next.erase(change.target) == 0) {
    return done(admin::Outcome::refusal(404, "nothing is changed there"));
  }
  keeper_->erase(change.target, [this, next, change, done](const Result<bool>& kept) {
    stored(next, change, kept, done);
  });
}

// `entries`: all, once the change is kept where it shall outlive the program.
void LivePolicy::stored(overlay::Entries entries, const admin::Change& change,
                        const Result<bool>& stored, const Done& done) {
  if (!stored) {
    return done(admin::Outcome::refusal(
        503, "the change could not be kept, and is not in force: " + stored.error().message));
  }
  const overlay::Entries before = std::exchange(entries_, std::move(entries));
  const Result<bool> installed = install(base_, entries_, /*news=*/true);
  if (!installed) {
    entries_ = before;
    return done(admin::Outcome::refusal(422, installed.error().message));
  }
  const bool set = change.verb == admin::Change::Verb::kSet;
  std::string what = (set ? "set " : "removed ") + overlay::to_text(change.target);
  if (set) what += " " + overlay::to_text(entries_.at(change.target));
  log::info("change: " + what + ", by: " + change.who);
  arm_expiry();
  done({});
}

// What another instance may have changed.
void LivePolicy::take_entries(overlay::Entries entries) {
  if (entries == entries_) return;
  const overlay::Entries before = std::exchange(entries_, std::move(entries));
  const Result<bool> installed = install(base_, entries_, /*news=*/true);
  if (!installed) {
    log::error("change: what the fleet has changed is refused: " + installed.error().message);
    entries_ = before;
    return;
  }
  log::info("change: the fleet has changed the policy, generation " +
            std::to_string(status().generation));
  arm_expiry();
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
    log::info("change: " + overlay::to_text(name) + " has expired");
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
    outcome.json += "{\"target\":" + overlay::to_text(name) +
                    ",\"set\":" + boost::json::serialize(entry.set) + ",\"who\":";
    append_json_string(outcome.json, entry.who);
    outcome.json += ",\"at\":\"" + admin::utc(entry.at_ns) + '"';
    if (entry.until_ns) outcome.json += ",\"expires\":\"" + admin::utc(*entry.until_ns) + '"';
    outcome.json += '}';
  }
  outcome.json += "]}\n";
  return outcome;
}

}  // namespace weir::app
