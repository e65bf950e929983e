#include "wire/http1/version.h"

#include <cstring>

#include "wire/http1/characters.h"

namespace weir::http1 {

namespace {

Version malformed() {
  return {Progress::kError, VersionFault::kMalformed, 0};
}

}  // namespace

Version read_version(std::string_view text) {
  constexpr std::string_view kShape = "HTTP/0.0";  // each 0 stands for a digit
  if (text.size() >= kVersionBytes) {
    if (std::memcmp(text.data(), "HTTP/1.1", kVersionBytes) == 0) {
      return {Progress::kComplete, VersionFault::kNone, 1};
    }
    if (std::memcmp(text.data(), "HTTP/1.0", kVersionBytes) == 0) {
      return {Progress::kComplete, VersionFault::kNone, 0};
    }
  }
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (i == text.size()) return {};
    const bool fits = kShape[i] == '0' ? is(text[i], kDigit) : text[i] == kShape[i];
    if (!fits) return malformed();
  }
  return {Progress::kError, VersionFault::kUnsupported, 0};
}

}  // namespace weir::http1
