#include "policy/feature.h"

#include <array>

namespace weir::policy {
namespace {

struct NotYet {
  Feature feature;
  std::string_view name;
};

constexpr std::array kNotYet{
    NotYet{Feature::kLeased, "the mode leased"},
};

}  // namespace

std::optional<std::string_view> not_yet(Feature feature) {
  for (const NotYet& row : kNotYet) {
    if (row.feature == feature) return row.name;
  }
  return std::nullopt;
}

}  // namespace weir::policy
