// How a counter is called in Redis, and in which slot of a Cluster that name lies.
//
//   name = prefix "{" tag "}" counter ":" kind "/" key
//
//   tag      16 hexadecimal digits: a hash of the key's values alone, so that limits that count by
//            the same values share a slot, and what a client sends cannot choose one
//   counter  the limit's, readable; '%' and '/' in it as %25 and %2F
//   kind     the algorithm and what must not change under a counter ("tb", "fw60000000")
//   key      as the engine wrote it; longer than 200 bytes: "#" and its SHA-256
//
// An engine's key begins with a digit or '-', or is empty, so no two counters share a name.
//
// THREADS: plain functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::store::redis {

inline constexpr std::size_t kLongestPlainKey = 200;

void append_key_name(std::string& out, std::string_view prefix, std::string_view counter,
                     std::string_view kind, std::string_view key);

inline constexpr std::uint16_t kSlots = 16384;

// The slot of a name: CRC16 of what stands in its first braces, or of all of it.
std::uint16_t slot_of(std::string_view name);

}  // namespace weir::store::redis
