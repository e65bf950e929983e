// ClusterMap: which node of a Cluster serves which slot.
//
// THREADS: one loop.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/redis/key_name.h"
#include "store/redis/url.h"
#include "wire/resp/reply.h"

namespace weir::store::redis {

class ClusterMap {
 public:
  static constexpr std::size_t kMaxNodes = 1000;

  // Takes over what CLUSTER SLOTS answered. `asked` stands in where a node does not know its own
  // address. False, and nothing changes, where the reply cannot be read.
  bool update(const resp::Reply& reply, const Address& asked);
  // One slot, as MOVED tells.
  void move(std::uint16_t slot, const Address& address);

  // Nothing where nobody serves the slot.
  const Address* primary_of(std::uint16_t slot) const {
    return slots_.empty() || slots_[slot] == kNobody ? nullptr : &primaries_[slots_[slot]];
  }
  const std::vector<Address>& primaries() const { return primaries_; }
  bool known() const { return !slots_.empty(); }

 private:
  static constexpr std::uint16_t kNobody = 0xffff;

  static std::uint16_t index_of(std::vector<Address>& primaries, Address address);

  std::vector<Address> primaries_;
  std::vector<std::uint16_t> slots_;  // indices into primaries_
};

}  // namespace weir::store::redis
