// Bodies of the check API, read strictly: an unknown member is a mistake.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sent_attributes.h"
#include "policy/policy.h"
#include "serve/api/bad_field.h"

namespace weir::api {

using engine::SentAttributes;

// {"attributes":{"ip":"203.0.113.7"},"cost":1}, or numbers that come with the call:
// {"key":"user:1","rate":"10/60s","burst":5,"cost":1}
struct CheckRequest {
  SentAttributes attributes;
  std::optional<std::uint64_t> cost;  // absent: the limits' own

  bool adhoc = false;
  std::string key;
  TokenBucket numbers;

  // Forgets all, keeps the memory of attributes.
  void clear() {
    attributes.clear();
    cost.reset();
    adhoc = false;
    key = {};
    numbers = {};
  }
};

inline constexpr std::size_t kMaxChecks = 1000;
inline constexpr std::size_t kMaxAttributes = 64;
inline constexpr std::size_t kMaxKeyBytes = 64 * 1024;

// One check, or several: {"checks":[{...}, ...]}.
struct CheckBody {
  std::vector<CheckRequest> checks;
  bool batch = false;
};

// Reads `body` into `out`, whose memory is used again; nothing when it is right.
std::optional<BadField> read_check(std::string_view body, const policy::Policy& policy,
                                   CheckBody& out);
// The same by the strict reader alone (plain_check.h).
std::optional<BadField> read_check_strictly(std::string_view body, const policy::Policy& policy,
                                            CheckBody& out);

// {"key":["user-42"],"cost":1} of take and refund.
struct KeyRequest {
  std::vector<std::string> key;
  std::uint64_t cost = 1;
};

std::optional<BadField> read_key(std::string_view body, KeyRequest& out);

// {"id":"...","cost":7}: the cost of settle alone, where it must be given.
struct IdRequest {
  std::string id;
  std::uint64_t cost = 0;
};

std::optional<BadField> read_id(std::string_view body, bool takes_cost, IdRequest& out);

}  // namespace weir::api
