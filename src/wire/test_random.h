// Random: the seeded generator of wire's differential tests. Every run uses the same seed unless
// WEIR_SEED names another; a failing test prints the one it used.
//
// THREADS: one generator, one thread. For tests only.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace weir::wire_test {

inline std::uint64_t seed() {
  const char* const given = std::getenv("WEIR_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261130;
}

inline std::string replay_hint() {
  return "replay with WEIR_SEED=" + std::to_string(seed());
}

// SplitMix64 (Steele, Lea and Flood, 2014).
class Random {
 public:
  explicit Random(std::uint64_t state = seed()) : state_(state) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // From 0 to bound - 1. REQUIRES: bound > 0.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  char byte() { return static_cast<char>(next()); }

  // `text` with a few bytes changed, doubled, dropped or replaced by ones that parsers mind.
  std::string mutate(std::string text) {
    constexpr std::string_view kPointed("\r\n :;,\0\t%\"=-+0x9af\x7f\x80#?/*&\\", 26);
    for (std::size_t i = below(4); i > 0 && !text.empty(); --i) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = byte();
          break;
        case 1:
          text[at] = kPointed[below(kPointed.size())];
          break;
        case 2:
          text.insert(at, 1, kPointed[below(kPointed.size())]);
          break;
        case 3:
          text.erase(at, 1 + below(4));
          break;
        default:
          text.insert(at, text.substr(at, 1 + below(24)));
          break;
      }
    }
    return text;
  }

 private:
  std::uint64_t state_;
};

}  // namespace weir::wire_test
