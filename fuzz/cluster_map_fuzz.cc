// What a server answers to CLUSTER SLOTS: taken or not, no slot leads anywhere but to a node that
// was named, and a map that cannot be read changes nothing.

#include <algorithm>

#include "fuzz/support.h"
#include "store/redis/cluster_map.h"
#include "wire/resp/reply.h"

namespace {

using namespace weir::store::redis;

constexpr std::uint32_t kSlots = 16384;

std::string told(const ClusterMap& map) {
  std::string out;
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    const Address* const node = map.primary_of(static_cast<std::uint16_t>(slot));
    if (node == nullptr) continue;
    const auto& known = map.primaries();
    weir::fuzz::require(std::find(known.begin(), known.end(), *node) != known.end(),
                        "a slot's node is known");
    if (slot % 512 == 0) out += std::to_string(slot) + node->to_string() + '\n';
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weir::fuzz::Block block(weir::fuzz::text(data, size));
  weir::resp::ReplyParser parser;
  if (parser.parse(block.view()) != weir::resp::Progress::kComplete) return 0;
  ClusterMap map;
  map.move(7, {"192.0.2.1", 7000});
  const std::string before = told(map);
  const bool taken = map.update(parser.reply(), {"192.0.2.2", 6379});
  weir::fuzz::require(map.primaries().size() <= ClusterMap::kMaxNodes + 1, "nodes are bounded");
  const std::string after = told(map);
  if (!taken) weir::fuzz::require_equal(before, after, "what cannot be read changes nothing");
  return 0;
}
