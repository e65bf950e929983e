#include "store/redis/cluster_map.h"

#include <algorithm>
#include <optional>

namespace weir::store::redis {
namespace {

struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
  Address primary;
};

// [first, last, [host, port, id, ...], replicas...]
std::optional<Range> read_range(const resp::Reply& entry, const Address& asked) {
  if (!entry.is_list() || entry.size() < 3) return std::nullopt;
  const auto first = entry.at(0).as_integer();
  const auto last = entry.at(1).as_integer();
  const resp::Reply node = entry.at(2);
  if (!first || !last || !node.is_list() || node.size() < 2) return std::nullopt;
  const auto port = node.at(1).as_integer();
  if (*first < 0 || *last >= kSlots || *first > *last || !port || *port <= 0 || *port > 65535) {
    return std::nullopt;
  }
  Range range;
  range.first = static_cast<std::size_t>(*first);
  range.last = static_cast<std::size_t>(*last);
  range.primary = Address{std::string(node.at(0).text()), static_cast<std::uint16_t>(*port)};
  if (range.primary.host.empty() || range.primary.host == "?") range.primary.host = asked.host;
  return range;
}

}  // namespace

bool ClusterMap::update(const resp::Reply& reply, const Address& asked) {
  if (!reply.is_list() || reply.size() == 0 || reply.size() > kSlots) return false;
  std::vector<Address> primaries;
  std::vector<std::uint16_t> slots(kSlots, kNobody);
  for (resp::Reply entry = reply.first(); entry.valid(); entry = entry.next()) {
    auto range = read_range(entry, asked);
    if (!range) return false;
    const std::uint16_t index = index_of(primaries, std::move(range->primary));
    if (index == kNobody) return false;
    std::fill(slots.begin() + static_cast<std::ptrdiff_t>(range->first),
              slots.begin() + static_cast<std::ptrdiff_t>(range->last) + 1, index);
  }
  primaries_ = std::move(primaries);
  slots_ = std::move(slots);
  return true;
}

void ClusterMap::move(std::uint16_t slot, const Address& address) {
  const std::uint16_t index = index_of(primaries_, address);
  if (index == kNobody) return;
  if (slots_.empty()) slots_.assign(kSlots, kNobody);
  slots_[slot] = index;
}

std::uint16_t ClusterMap::index_of(std::vector<Address>& primaries, Address address) {
  const auto at = std::find(primaries.begin(), primaries.end(), address);
  if (at == primaries.end() && primaries.size() >= kMaxNodes) return kNobody;
  const auto index = static_cast<std::uint16_t>(at - primaries.begin());
  if (at == primaries.end()) primaries.push_back(std::move(address));
  return index;
}

}  // namespace weir::store::redis
