// The body of POST /v1/check, read strictly: {"attributes":{...},"cost":1}.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/sent_attributes.h"
#include "policy/policy.h"

namespace weir::api {

using engine::BadField;
using engine::SentAttributes;

struct CheckRequest {
  SentAttributes attributes;
  std::optional<std::uint64_t> cost;  // absent: the limits' own
};

// Reads `body` into `out`; nothing when it is right.
std::optional<BadField> read_check(std::string_view body, const policy::Policy& policy,
                                   CheckRequest& out);

}  // namespace weir::api
