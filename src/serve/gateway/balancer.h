// Balancer: which server of a group gets the next request. Those that are out are passed over, but
// for the one request that is lent to them; where all are out, all are tried.
//
//   round_robin        each in turn
//   least_connections  who has the fewest requests, of all loops; of equals, each in turn
//
// THREADS: one; the healths are shared.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "policy/policy.h"
#include "serve/gateway/health.h"

namespace weir::gateway {

class Balancer {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  // `turn`: where it begins; loops that begin apart do not all send their first to the same one.
  // REQUIRES: 1 to 64 servers, which outlive it.
  Balancer(policy::Balance balance, std::vector<Health*> servers, std::size_t turn)
      : balance_(balance), servers_(std::move(servers)), turn_(turn % servers_.size()) {}

  // The server for a request that has been to those in `tried`, one bit each; kNone: to all.
  std::size_t pick(std::uint64_t tried, std::int64_t now_ns);

 private:
  std::size_t pick_in(std::uint64_t tried, std::int64_t now_ns);

  const policy::Balance balance_;
  const std::vector<Health*> servers_;
  std::size_t turn_;  // whose it is
};

}  // namespace weir::gateway
