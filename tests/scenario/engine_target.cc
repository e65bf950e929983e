#include "scenario/engine_target.h"

#include <algorithm>

#include "base/check.h"
#include "engine/receipt.h"
#include "engine/test_request.h"

namespace weir::scenario {
namespace {

std::string header_of(const std::string& limit) {
  return "header.x-" + limit;
}

policy::Limit written(const Limit& limit) {
  policy::Limit made = engine::limit(limit.name, limit.numbers, {header_of(limit.name)});
  made.numbers.insert(made.numbers.end(), limit.more.begin(), limit.more.end());
  made.mode = limit.shadow ? policy::Mode::kShadow : policy::Mode::kEnforce;
  return made;
}

engine::TestRequest request_of(std::span<const Met> met) {
  std::map<std::string, std::string> headers;
  for (const Met& one : met) headers[header_of(one.limit->name)] = one.key;
  return engine::TestRequest(std::move(headers));
}

}  // namespace

EngineTarget::EngineTarget(const Scenario& scenario) : limits_(scenario.limits) {
  install();
}

void EngineTarget::install() {
  std::vector<policy::Limit> all;
  for (const Limit& limit : limits_) all.push_back(written(limit));
  const auto installed = engine_.install(engine::policy_of(std::move(all)));
  WEIR_CHECK(installed.has_value(), "the corpus has numbers that can be held");
}

void EngineTarget::reload_if_changed(std::span<const Met> met) {
  bool changed = false;
  for (const Met& one : met) {
    for (Limit& limit : limits_) {
      if (limit.name != one.limit->name || limit == *one.limit) continue;
      limit = *one.limit;
      changed = true;
    }
  }
  if (changed) install();
}

Reply EngineTarget::take(std::span<const Met> met, Instant now) {
  reload_if_changed(met);
  const engine::TestRequest request = request_of(met);
  Reply reply{true, {}};
  std::optional<std::uint64_t> cost;
  if (!met.empty()) cost = met[0].cost;
  engine_.decide(request, now, cost, [&](engine::Decision decision) {
    reply.admitted = decision.allowed;
    for (const auto& limit : decision.limits) {
      const std::size_t pairs = met[reply.verdicts.size()].limit->pairs();
      reply.verdicts.insert(reply.verdicts.end(), pairs, limit.verdict);
    }
    WEIR_CHECK(reply.verdicts.size() == met.size(), "a request meets the limits of its headers");
    const auto right = named(met, reply);
    const engine::LimitDecision* name = decision.named_limit();
    WEIR_CHECK(name == nullptr ? !right : right && name->name == met[*right].limit->name,
               "the engine names the limit that the contract says");
    if (decision.allowed) charged_.push_back(std::move(decision));
  });
  return reply;
}

// By the receipt of the decision made then for this key; a refund without one by the limits' names.
void EngineTarget::correct(std::span<const Met> met, Change change, Instant now,
                           std::optional<Instant> charged_at) {
  reload_if_changed(met);
  if (!charged_at) {
    WEIR_CHECK(change == Change::kRefund, "the engine corrects else what was charged at a time");
    for (const Met& one : met) {
      if (one.pair > 0) continue;
      const auto done = engine_.refund(one.limit->name, {one.key}, now, one.cost);
      WEIR_CHECK(done.has_value(), "the limit is in the policy");
    }
    return;
  }
  const auto limits =
      std::count_if(met.begin(), met.end(), [](const Met& one) { return one.pair == 0; });
  const auto charged = std::find_if(charged_.rbegin(), charged_.rend(), [&](const auto& decision) {
    return decision.at.steady_ns == charged_at->steady_ns &&
           std::ssize(decision.limits) == limits && decision.limits[0].name == met[0].limit->name &&
           decision.key_of(decision.limits[0]).find(met[0].key) != std::string_view::npos;
  });
  if (charged == charged_.rend()) return;
  const engine::Receipt receipt = engine::Receipt::of(*charged);
  const std::uint64_t cost = charged->limits[0].cost;
  if (change == Change::kRenew) {
    engine_.renew(receipt, now);
  } else if (change == Change::kOverdraw) {
    engine_.settle(receipt, cost + met[0].cost, now);
  } else if (receipt.has_places()) {
    engine_.refund(receipt, now);
  } else {
    engine_.settle(receipt, cost - std::min(cost, met[0].cost), now);
  }
}

void EngineTarget::reset(std::span<const Met> met) {
  for (const Met& one : met) {
    const auto done = engine_.reset(one.limit->name, {one.key}, Instant{});
    WEIR_CHECK(done.has_value(), "the limit is in the policy");
  }
}

}  // namespace weir::scenario
