#include "app/live/fingerprint.h"

#include <openssl/sha.h>

#include <array>

#include "base/hex.h"

namespace weir::app {

std::string fingerprint(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out = "sha256:";
  append_hex(out, digest);
  return out;
}

}  // namespace weir::app
