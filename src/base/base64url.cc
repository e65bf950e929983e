#include "base/base64url.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weir {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNone = 64;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr auto kValues = make_values();

}  // namespace

void append_base64url(std::string& out, std::string_view bytes) {
  const std::size_t before = out.size();
  out.resize(before + (bytes.size() * 4 + 2) / 3);
  char* digit = out.data() + before;
  while (!bytes.empty()) {
    const std::size_t given = std::min<std::size_t>(bytes.size(), 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < given ? static_cast<unsigned char>(bytes[i]) : 0u);
    }
    for (std::size_t i = 0; i <= given; ++i) *digit++ = kDigits[group >> (18 - 6 * i) & 63];
    bytes.remove_prefix(given);
  }
}

std::optional<std::string> decode_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kNone) return std::nullopt;
    held = held << 6 | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 255);
  }
  if ((held & ((1u << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace weir
