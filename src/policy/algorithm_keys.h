// Which numbers each algorithm takes.
//
// THREADS: constants.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/numbers.h"

namespace weir::policy {

struct AlgorithmKeys {
  Algorithm algorithm;
  std::string_view name;
  std::span<const NumberKey> required;
  std::span<const NumberKey> optional;
  std::string_view list;  // "windows", "buckets", or "" for none

  bool takes(NumberKey key) const;
  bool takes_named(std::string_view key) const;
  bool requires_key(NumberKey key) const;
  std::string words() const;  // "rate and burst"
};

std::span<const AlgorithmKeys> algorithm_keys();
const AlgorithmKeys& keys_of(Algorithm algorithm);

std::string_view key_name(NumberKey key);

}  // namespace weir::policy
