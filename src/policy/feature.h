// Feature: what the policy file can say but this version cannot do yet.
//
// Such a key is known: it is parsed, its type is checked, and then it is refused with the words
// "not yet", so that nobody believes to be protected by a setting that does nothing. To build a
// feature means to delete its row in feature.cc.
//
// THREADS: pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::policy {

enum class Feature : std::uint8_t {
  kBuilt,  // everything that has no row
  kLeased,
  kResp,
  kGrpc,
};

// What the feature is called in "<name> is not built yet", or nothing when it is built.
std::optional<std::string_view> not_yet(Feature feature);

}  // namespace weir::policy
