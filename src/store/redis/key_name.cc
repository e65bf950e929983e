#include "store/redis/key_name.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"
#include "base/hex.h"
#include "base/siphash.h"

namespace weir::store::redis {
namespace {

// Public and fixed, since all instances must agree: it spreads keys over slots, and guards nothing.
constexpr SipKey kSlotKey{0x77656972'72656469, 0x736c6f74'00000001};

void append_tag(std::string& out, std::string_view key) {
  SipHash hash(kSlotKey);
  hash.add(key);
  append_hex(out, hash.finish().low);
}

void append_counter(std::string& out, std::string_view counter) {
  for (char c : counter) {
    if (c == '%') {
      out += "%25";
    } else if (c == '/') {
      out += "%2F";
    } else {
      out += c;
    }
  }
}

void append_digest(std::string& out, std::string_view key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  const int done = EVP_Digest(key.data(), key.size(), digest.data(), &size, EVP_sha256(), nullptr);
  WEIR_CHECK(done == 1, "every OpenSSL has SHA-256");
  out += '#';
  append_hex(out, std::span(digest.data(), size));
}

constexpr std::array<std::uint16_t, 256> make_crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

// CRC-16/XMODEM, which Redis Cluster took.
std::uint16_t crc16(std::string_view bytes) {
  static constexpr auto kTable = make_crc_table();
  std::uint16_t crc = 0;
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    crc = static_cast<std::uint16_t>((crc << 8) ^ kTable[((crc >> 8) ^ byte) & 0xff]);
  }
  return crc;
}

}  // namespace

void append_key_name(std::string& out, std::string_view prefix, std::string_view counter,
                     std::string_view kind, std::string_view key) {
  out += prefix;
  out += '{';
  append_tag(out, key);
  out += '}';
  append_counter(out, counter);
  out += ':';
  out += kind;
  out += '/';
  if (key.size() > kLongestPlainKey) return append_digest(out, key);
  out += key;
}

std::uint16_t slot_of(std::string_view name) {
  const std::size_t open = name.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = name.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      name = name.substr(open + 1, close - open - 1);
    }
  }
  return crc16(name) % kSlots;
}

}  // namespace weir::store::redis
