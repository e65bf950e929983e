// What a stranger's bytes may do as a token, and a file's as keys: no crash, and what is read is in
// bounds.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/support.h"
#include "jwt/keys.h"
#include "jwt/token.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const weir::fuzz::Block block(weir::fuzz::text(data + 1, size - 1));
  const std::string_view text = block.view();
  if (data[0] % 2 == 0) {
    const auto keys = weir::jwt::read_keys(text);
    if (!keys) return 0;
    weir::fuzz::require(!keys->empty() && keys->size() <= 64, "keys are bounded");
    for (const auto& key : *keys) weir::fuzz::require(!key.family.empty(), "a key has its kind");
    return 0;
  }
  const auto token = weir::jwt::read_token(text);
  if (!token) return 0;
  weir::fuzz::require(text.size() <= weir::jwt::kMaxTokenBytes, "a token is bounded");
  const auto validity = weir::jwt::read_validity(token->payload);
  if (validity && token->payload.contains("exp")) {
    weir::fuzz::require(validity->expires_ns >= 0, "a time is after 1970");
  }
  static_cast<void>(weir::jwt::has_audience(token->payload, "a"));
  const auto claim = weir::jwt::read_claim(token->payload, "sub");
  weir::fuzz::require(!claim || !claim->empty(), "an empty claim is none");
  return 0;
}
