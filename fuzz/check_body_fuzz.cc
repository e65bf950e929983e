// The two readers of a check's body agree: what the plain one takes, the strict one takes too and
// reads as the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support.h"
#include "policy/policy.h"
#include "serve/api/check_request.h"
#include "serve/api/plain_check.h"

namespace {

using weir::api::CheckBody;
using weir::api::CheckRequest;
using Kind = weir::policy::Attribute::Kind;

// Everything that was read, as text.
std::string told(const CheckRequest& request) {
  std::string out;
  const auto add = [&](Kind kind, const char* name) {
    const auto value = request.attributes.find({kind, name});
    if (value) weir::fuzz::append_part(out, name, *value);
  };
  if (const auto ip = request.attributes.ip()) weir::fuzz::append_part(out, "ip", ip->to_string());
  for (const Kind kind : {Kind::kUser, Kind::kTier, Kind::kMethod, Kind::kPath, Kind::kHost,
                          Kind::kDomain, Kind::kMessage}) {
    add(kind, "");
  }
  add(Kind::kHeader, "x-a");
  add(Kind::kCookie, "c");
  add(Kind::kQuery, "q");
  add(Kind::kDeclared, "plan");
  if (request.cost) weir::fuzz::append_part(out, "cost", std::to_string(*request.cost));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weir::policy::Policy policy = [] {
    weir::policy::Policy made;
    made.attributes = {"plan"};
    return made;
  }();
  const weir::fuzz::Block block(weir::fuzz::text(data, size));
  CheckRequest plain;
  CheckBody strict;
  const bool taken = weir::api::read_plain_check(block.view(), policy, plain);
  const auto bad = weir::api::read_check_strictly(block.view(), policy, strict);
  if (!taken) return 0;
  weir::fuzz::require(!bad, "what the plain reader takes, the strict one takes");
  weir::fuzz::require(!strict.batch && strict.checks.size() == 1, "it is one check");
  weir::fuzz::require_equal(told(plain), told(strict.checks.front()), "both read the same");
  return 0;
}
