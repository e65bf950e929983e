// Questions to the rate limit service put together, and its answers taken apart. Tests only.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/grpc/protobuf.h"
#include "wire/grpc/rate_limit.h"

namespace weir::grpc {

struct Asked {
  std::vector<std::pair<std::string, std::string>> entries;
  std::optional<rls::Override> limit = std::nullopt;
  std::optional<std::uint64_t> hits = std::nullopt;
};

inline std::string request(std::string_view domain, const std::vector<Asked>& descriptors,
                           std::uint64_t hits = 0) {
  std::string out;
  protobuf::Writer writer(out);
  writer.text(1, domain);
  for (const Asked& asked : descriptors) {
    const std::size_t at = writer.open(2);
    for (const auto& [key, value] : asked.entries) {
      const std::size_t entry = writer.open(1);
      writer.text(1, key);
      writer.text(2, value);
      writer.close(entry);
    }
    if (asked.limit) {
      const std::size_t limit = writer.open(2);
      writer.number(1, asked.limit->requests_per_unit);
      writer.number(2, static_cast<std::uint64_t>(asked.limit->unit));
      writer.close(limit);
    }
    if (asked.hits) {
      const std::size_t wrapped = writer.open(3);
      writer.number(1, *asked.hits);
      writer.close(wrapped);
    }
    writer.close(at);
  }
  writer.number(3, hits);
  return out;
}

// "OVER_LIMIT [OK 100/MINUTE api 99 60s] [OVER_LIMIT ...]": the answer in words.
inline std::string in_words(std::string_view message) {
  const auto field_words = [](std::string_view bytes) {
    std::string words = "?";
    std::string limit;
    std::uint64_t left = 0;
    std::string reset;
    protobuf::Reader reader(bytes);
    for (protobuf::Field f; reader.next(f);) {
      if (f.is_varint(1)) words = rls::to_string(static_cast<rls::Code>(f.value));
      if (f.is_varint(3)) left = f.value;
      if (f.is_bytes(2)) {
        std::uint64_t count = 0, unit = 0;
        std::string name;
        protobuf::Reader inner(f.bytes);
        for (protobuf::Field g; inner.next(g);) {
          if (g.is_varint(1)) count = g.value;
          if (g.is_varint(2)) unit = g.value;
          if (g.is_bytes(3)) name = " " + std::string(g.bytes);
        }
        limit = " " + std::to_string(count) + "/" +
                std::string(rls::to_string(static_cast<rls::Unit>(unit))) + name;
      }
      if (f.is_bytes(4)) {
        std::uint64_t seconds = 0;
        protobuf::Reader inner(f.bytes);
        for (protobuf::Field g; inner.next(g);) seconds = g.value;
        reset = " " + std::to_string(seconds) + "s";
      }
    }
    if (!limit.empty() || left > 0) words += limit + " " + std::to_string(left) + reset;
    return words;
  };
  std::string words;
  protobuf::Reader reader(message);
  for (protobuf::Field f; reader.next(f);) {
    if (f.is_varint(1)) words = rls::to_string(static_cast<rls::Code>(f.value));
    if (f.is_bytes(2)) words += " [" + field_words(f.bytes) + "]";
  }
  return words;
}

// The header to add of that name, or nothing.
inline std::string header_of(std::string_view message, std::string_view name) {
  protobuf::Reader reader(message);
  for (protobuf::Field f; reader.next(f);) {
    if (!f.is_bytes(3)) continue;
    std::string key, value;
    protobuf::Reader inner(f.bytes);
    for (protobuf::Field g; inner.next(g);) (g.number == 1 ? key : value) = g.bytes;
    if (key == name) return value;
  }
  return "";
}

}  // namespace weir::grpc
