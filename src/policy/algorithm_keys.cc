#include "policy/algorithm_keys.h"

#include <algorithm>
#include <array>

namespace weir::policy {
namespace {

using enum NumberKey;

constexpr std::array kOnlyRate{kRate};
constexpr std::array kOnlyBurst{kBurst};
constexpr std::array kRateQueue{kRate, kQueue};
constexpr std::array kLimitWindow{kLimit, kWindow};
constexpr std::array kAlignTimezone{kAlign, kTimezone};
constexpr std::array kOnlyAlign{kAlign};
constexpr std::array kOnlyLimit{kLimit};
constexpr std::array kOnlyTimeout{kTimeout};

constexpr std::array<AlgorithmKeys, 7> kAlgorithms{{
    {Algorithm::kTokenBucket, "token_bucket", kOnlyRate, kOnlyBurst, "buckets"},
    {Algorithm::kLeakyBucket, "leaky_bucket", kRateQueue, {}, "buckets"},
    {Algorithm::kFixedWindow, "fixed_window", kLimitWindow, kAlignTimezone, "windows"},
    {Algorithm::kSlidingLog, "sliding_log", kLimitWindow, {}, "windows"},
    {Algorithm::kSlidingCounter, "sliding_counter", kLimitWindow, kOnlyAlign, "windows"},
    {Algorithm::kConcurrency, "concurrency", kOnlyLimit, kOnlyTimeout, ""},
    {Algorithm::kUnlimited, "unlimited", {}, {}, ""},
}};

constexpr std::array<std::string_view, kNumberKeys> kNames{
    "rate", "burst", "queue", "limit", "window", "align", "timezone", "timeout"};

bool holds(std::span<const NumberKey> keys, NumberKey key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

bool AlgorithmKeys::requires_key(NumberKey key) const {
  return holds(required, key);
}

bool AlgorithmKeys::takes(NumberKey key) const {
  return holds(required, key) || holds(optional, key);
}

bool AlgorithmKeys::takes_named(std::string_view key) const {
  const auto named = [key](NumberKey one) { return key_name(one) == key; };
  return std::any_of(required.begin(), required.end(), named) ||
         std::any_of(optional.begin(), optional.end(), named);
}

std::string AlgorithmKeys::words() const {
  std::vector<std::string_view> names;
  for (NumberKey key : required) names.push_back(key_name(key));
  for (NumberKey key : optional) names.push_back(key_name(key));
  return names.empty() ? "no numbers" : join_words(names, "and");
}

std::span<const AlgorithmKeys> algorithm_keys() {
  return kAlgorithms;
}

const AlgorithmKeys& keys_of(Algorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

std::string_view key_name(NumberKey key) {
  return kNames[static_cast<std::size_t>(key)];
}

}  // namespace weir::policy
