#include "wire/websocket/sha1.h"

#include <bit>
#include <cstring>

namespace weir::websocket {

namespace {

constexpr std::size_t kBlock = 64;
using State = std::array<std::uint32_t, 5>;

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

struct Round {
  std::uint32_t mixed;
  std::uint32_t constant;
};

Round round_of(std::size_t t, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  if (t < 20) return {(b & c) | (~b & d), 0x5a827999};
  if (t < 40) return {b ^ c ^ d, 0x6ed9eba1};
  if (t < 60) return {(b & c) | (b & d) | (c & d), 0x8f1bbcdc};
  return {b ^ c ^ d, 0xca62c1d6};
}

void add_block(State& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 80> words;
  for (std::size_t t = 0; t < 16; ++t) words[t] = big_endian(block + 4 * t);
  for (std::size_t t = 16; t < words.size(); ++t) {
    words[t] = std::rotl(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1);
  }
  auto [a, b, c, d, e] = state;
  for (std::size_t t = 0; t < words.size(); ++t) {
    const Round round = round_of(t, b, c, d);
    const std::uint32_t next = std::rotl(a, 5) + round.mixed + e + round.constant + words[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const State mixed = {a, b, c, d, e};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

// The rest of the message, a one bit, zeros, and the length in bits.
void add_tail(State& state, std::string_view rest, std::uint64_t message_bytes) {
  std::array<std::uint8_t, 2 * kBlock> tail{};
  if (!rest.empty()) std::memcpy(tail.data(), rest.data(), rest.size());
  tail[rest.size()] = 0x80;
  const std::size_t size = rest.size() + 9 <= kBlock ? kBlock : 2 * kBlock;
  for (std::size_t i = 0; i < 8; ++i) {
    tail[size - 1 - i] = static_cast<std::uint8_t>(message_bytes * 8 >> (8 * i));
  }
  for (std::size_t at = 0; at < size; at += kBlock) add_block(state, tail.data() + at);
}

}  // namespace

std::array<std::uint8_t, 20> sha1(std::string_view message) {
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::string_view rest = message;
  for (; rest.size() >= kBlock; rest.remove_prefix(kBlock)) {
    add_block(state, reinterpret_cast<const std::uint8_t*>(rest.data()));
  }
  add_tail(state, rest, message.size());
  std::array<std::uint8_t, 20> digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

}  // namespace weir::websocket
