// Ids of receipts: whatever is well sealed is read within its bounds, and what is read from an id
// reads the same from the id that is made of it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/base64url.h"
#include "base/siphash.h"
#include "engine/compiled_policy.h"
#include "engine/receipt_id.h"
#include "fuzz/support.h"

namespace {

using namespace weir::engine;

constexpr weir::SipKey kSecret{1, 2};

std::shared_ptr<const CompiledPolicy> policy() {
  weir::policy::Policy made;
  weir::policy::Limit& limit = made.limits.emplace_back();
  limit.name = "a";
  limit.numbers = {weir::TokenBucket{{1, std::chrono::seconds(1)}, 5},
                   weir::Concurrency{5, std::chrono::seconds(1)}};
  auto compiled = CompiledPolicy::make(std::move(made));
  weir::fuzz::require(compiled.has_value(), "the policy is right");
  return *compiled;
}

// Seals the bytes as if they were ours, which nobody else can.
std::string sealed(std::string bytes) {
  weir::SipHash hash(kSecret);
  hash.add(bytes);
  const weir::Hash128 seal = hash.finish();
  for (const std::uint64_t word : {seal.low, seal.high}) {
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(word >> shift);
  }
  std::string id;
  weir::append_base64url(id, bytes);
  return id;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto in_force = policy();
  static ReceiptIds ids;
  ids.share(kSecret);
  const std::string bytes(weir::fuzz::text(data, size));
  (void)ids.open(bytes, in_force);
  const auto receipt = ids.open(sealed(bytes), in_force);
  if (!receipt) return 0;
  std::string first;
  ids.append(*receipt, first);
  const auto again = ids.open(first, in_force);
  weir::fuzz::require(again.has_value(), "what was read can be written and read");
  std::string second;
  ids.append(*again, second);
  weir::fuzz::require_equal(first, second, "one receipt has one id");
  return 0;
}
