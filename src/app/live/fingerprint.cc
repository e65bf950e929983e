#include "app/live/fingerprint.h"

#include <openssl/sha.h>

#include <array>

namespace weir::app {

std::string fingerprint(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out = "sha256:";
  for (const unsigned char byte : digest) out += {kDigits[byte >> 4], kDigits[byte & 15]};
  return out;
}

}  // namespace weir::app
