// Upstreams: where the policy in force sends requests, as one loop sees it.
//
// THREADS: the loop's.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/matcher.h"
#include "net/loop.h"
#include "policy/policy.h"
#include "serve/gateway/upstream_board.h"
#include "serve/gateway/upstream_group.h"

namespace weir::gateway {

class Upstreams {
 public:
  // REQUIRES: both outlive it.
  Upstreams(net::Loop& loop, UpstreamBoard& board) : loop_(loop), board_(board) {}

  // Keeps servers that stay, with their connections; drops those that are gone.
  void update(const policy::Gateway& gateway, const policy::Paths& paths);

  // The group of the first route that the request takes, else the one without a route; null where
  // there is none.
  UpstreamGroupPtr find(const engine::Attributes& request, const policy::Paths& paths) const {
    return routes_.empty() ? default_ : find_route(request, paths);
  }

 private:
  struct Route {
    engine::Matcher match;
    UpstreamGroupPtr group;
  };
  using Servers = std::map<std::string, UpstreamPtr>;  // by URL

  UpstreamGroupPtr find_route(const engine::Attributes& request, const policy::Paths& paths) const;
  UpstreamGroupPtr make_group(const policy::UpstreamGroup& written, Servers& servers);

  net::Loop& loop_;
  UpstreamBoard& board_;
  Servers servers_;
  UpstreamGroupPtr default_;
  std::vector<Route> routes_;
};

}  // namespace weir::gateway
