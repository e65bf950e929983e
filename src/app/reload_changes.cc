#include "app/reload_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <variant>

#include "base/log.h"

namespace weir::app {
namespace {

bool starts_afresh(const Numbers& now, const Numbers& next) {
  if (now.index() != next.index()) return true;
  if (const auto* window = std::get_if<FixedWindow>(&now)) {
    const auto& other = std::get<FixedWindow>(next);
    return window->window != other.window || window->align != other.align;
  }
  if (const auto* counter = std::get_if<SlidingCounter>(&now)) {
    const auto& other = std::get<SlidingCounter>(next);
    return counter->window != other.window || counter->align != other.align;
  }
  return false;
}

// Pairs of numbers are told apart by their place in the limit.
bool starts_afresh(const policy::NumberSet& now, const policy::NumberSet& next) {
  const std::size_t both = std::min(now.size(), next.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (starts_afresh(now[i], next[i])) return true;
  }
  return false;
}

template <typename Section>
void keep(std::string_view name, const std::optional<Section>& now, std::optional<Section>& next) {
  if (next || !now) return;
  next = now;
  log::warning("reload: the policy has no " + std::string(name) +
               " any more; its listener ends at the next start");
}

}  // namespace

std::vector<std::string> limits_that_start_afresh(const policy::Policy& now,
                                                  const policy::Policy& next) {
  std::map<std::string_view, const policy::Limit*> known;
  for (const policy::Limit& limit : now.limits) known.emplace(limit.name, &limit);
  std::vector<std::string> names;
  for (const policy::Limit& limit : next.limits) {
    const auto before = known.find(limit.name);
    if (before == known.end()) continue;
    if (starts_afresh(before->second->numbers, limit.numbers)) names.push_back(limit.name);
    for (const auto& [tier, numbers] : limit.tiers) {
      const auto same = before->second->tiers.find(tier);
      if (same == before->second->tiers.end() || !starts_afresh(same->second, numbers)) continue;
      names.push_back(limit.name + " tier " + tier);
    }
  }
  return names;
}

void keep_open_listeners(const policy::Policy& now, policy::Policy& next) {
  keep("gateway", now.gateway, next.gateway);
  keep("api", now.api, next.api);
  keep("resp", now.resp, next.resp);
  keep("grpc", now.grpc, next.grpc);
  keep("admin", now.admin, next.admin);
}

bool same_store(const policy::Store& now, const policy::Store& next) {
  return now.url == next.url && now.max_keys == next.max_keys && now.snapshot == next.snapshot;
}

}  // namespace weir::app
