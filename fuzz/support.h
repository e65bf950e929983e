// What the fuzzers share: a check that stops with its reason, and bytes in a block of their own
// size, so that the sanitizer sees a read behind them.
//
// THREADS: one.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weir::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

inline void require_equal(const std::string& a, const std::string& b, const char* what) {
  if (a == b) return;
  std::fprintf(stderr, "property broken: %s\n--- one\n%s\n--- other\n%s\n", what, a.c_str(),
               b.c_str());
  std::abort();
}

class Block {
 public:
  explicit Block(std::string_view bytes) : size_(bytes.size()), bytes_(new char[bytes.size()]) {
    if (!bytes.empty()) std::memcpy(bytes_.get(), bytes.data(), bytes.size());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }
  std::span<char> span() { return {bytes_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
};

inline std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void append_part(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append("=<").append(value).append(">\n");
}

}  // namespace weir::fuzz
