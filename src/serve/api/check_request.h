// The body of POST /v1/check, read strictly: {"attributes":{...},"cost":1}.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/attributes.h"
#include "policy/policy.h"

namespace weir::api {

// What is wrong with a request, and where: `field` is a path such as "attributes.ip".
struct BadField {
  std::string field;
  std::string message;
};

// The attributes that a caller sent, normalised as the gateway would.
class SentAttributes final : public engine::Attributes {
 public:
  std::optional<std::string_view> find(const policy::Attribute& attribute) const override;
  std::optional<IpAddress> ip() const override { return ip_; }

  // Keeps one attribute. Nothing when it is right.
  std::optional<BadField> add(std::string_view name, std::string_view value,
                              const policy::Policy& policy);

 private:
  std::optional<std::string> normalise(const policy::Attribute& attribute, std::string_view value,
                                       const policy::Policy& policy, std::string& out);

  std::optional<IpAddress> ip_;
  std::vector<std::pair<policy::Attribute, std::string>> values_;
};

struct CheckRequest {
  SentAttributes attributes;
  std::optional<std::uint64_t> cost;  // absent: the limits' own
};

// Reads `body` into `out`; nothing when it is right.
std::optional<BadField> read_check(std::string_view body, const policy::Policy& policy,
                                   CheckRequest& out);

}  // namespace weir::api
