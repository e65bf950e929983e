#include "serve/gateway/balancer.h"

namespace weir::gateway {
namespace {

bool has(std::uint64_t set, std::size_t index) {
  return (set >> index & 1) != 0;
}

}  // namespace

std::size_t Balancer::pick(std::uint64_t tried, std::int64_t now_ns) {
  std::size_t picked = pick_in(tried, now_ns);
  for (std::size_t i = 0; picked == kNone && i < servers_.size(); ++i) {
    const std::size_t index = (turn_ + i) % servers_.size();
    if (!has(tried, index)) picked = index;
  }
  // After the one that was taken, so that the neighbour of one that is out does not get both
  // shares.
  if (picked != kNone) turn_ = (picked + 1) % servers_.size();
  return picked;
}

std::size_t Balancer::pick_in(std::uint64_t tried, std::int64_t now_ns) {
  std::size_t best = kNone;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const std::size_t index = (turn_ + i) % servers_.size();
    if (has(tried, index)) continue;
    Health& health = *servers_[index];
    if (!health.in()) {
      if (health.lend(now_ns)) return index;
      continue;
    }
    if (balance_ == policy::Balance::kRoundRobin) return index;
    if (best == kNone || health.in_flight() < servers_[best]->in_flight()) best = index;
  }
  return best;
}

}  // namespace weir::gateway
