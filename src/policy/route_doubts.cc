#include "policy/route_doubts.h"

#include <algorithm>

#include "policy/coverage.h"
#include "policy/path.h"

namespace weir::policy {
namespace {

// Alternatives that are compared in all, some milliseconds' worth. Past it nothing more is told.
constexpr std::size_t kMaxCompared = 1'000'000;

std::size_t size_of(const Match& match) {
  std::size_t size = 1;
  for (const Condition& condition : match.conditions) {
    size += condition.pattern.alternatives().size();
  }
  return size;
}

}  // namespace

void warn_of_routes(Reader& reader, const Node& root, const Policy& policy) {
  const Entry* gateway = root.find("gateway");
  const Entry* entry = gateway == nullptr ? nullptr : gateway->value->find("routes");
  if (entry == nullptr || !policy.gateway) return;
  const std::vector<NodePtr>& nodes = entry->value->items;
  const std::vector<Route>& routes = policy.gateway->routes;
  if (nodes.size() != routes.size()) return;
  std::vector<Match> known;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    Match match = prepare(routes[i].match, policy.paths);
    const std::size_t size = size_of(match);
    const auto above = std::find_if(known.begin(), known.end(), [&](const Match& wide) {
      compared += size * size_of(wide);
      return compared <= kMaxCompared && covers(wide, match);
    });
    if (above != known.end()) {
      const Node& first = *nodes[static_cast<std::size_t>(above - known.begin())];
      reader.doubt(nodes[i]->at,
                   "this route is never taken: the one at line " + std::to_string(first.at.line) +
                       " takes all its requests first",
                   "put it above that one, or leave it out");
    }
    known.push_back(std::move(match));
  }
}

}  // namespace weir::policy
