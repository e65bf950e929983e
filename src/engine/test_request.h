// What engine tests build: requests from pairs of words, limits in few words. Tests only.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "policy/policy.h"

namespace weir::engine {

// {"ip", "203.0.113.5"}, {"path", "/login"}, {"header.x-id", "7"}
class TestRequest final : public Attributes {
 public:
  TestRequest(std::initializer_list<std::pair<const std::string, std::string>> values)
      : values_(values) {}
  explicit TestRequest(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  std::optional<std::string_view> find(const policy::Attribute& attribute) const override {
    const auto found = values_.find(policy::to_string(attribute));
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  std::optional<IpAddress> ip() const override {
    const auto found = values_.find("ip");
    return found == values_.end() ? std::nullopt : IpAddress::parse(found->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

inline policy::Attribute attribute(std::string_view text) {
  const auto parsed = policy::parse_attribute(text, {"plan", "tenant"});
  WEIR_CHECK(parsed.has_value(), "tests name attributes that exist");
  return *parsed;
}

// One attribute and its alternatives.
struct Wanted {
  std::string attribute;
  std::vector<std::string> alternatives;
};

inline policy::Match match(const std::vector<Wanted>& wanted) {
  policy::Match match;
  for (const Wanted& one : wanted) {
    policy::Condition condition{attribute(one.attribute), {}};
    for (const std::string& text : one.alternatives) {
      const auto kind = condition.attribute.kind;
      const auto added = kind == policy::Attribute::Kind::kIp ? condition.pattern.add_cidr(text)
                         : kind == policy::Attribute::Kind::kPath
                             ? condition.pattern.add_path(text)
                             : condition.pattern.add_text(text);
      WEIR_CHECK(added.has_value(), "tests write patterns that are right");
    }
    match.conditions.push_back(std::move(condition));
  }
  return match;
}

// {"user|ip", "path"}
inline std::vector<policy::KeyPart> key(const std::vector<std::string>& parts) {
  std::vector<policy::KeyPart> key;
  for (std::string part : parts) {
    policy::KeyPart& one = key.emplace_back();
    for (std::size_t bar; (bar = part.find('|')) != std::string::npos; part.erase(0, bar + 1)) {
      one.alternatives.push_back(attribute(part.substr(0, bar)));
    }
    one.alternatives.push_back(attribute(part));
  }
  return key;
}

// `burst` tokens, one back every `period`.
inline Numbers bucket(std::uint64_t burst, Duration period = std::chrono::seconds(1)) {
  return TokenBucket{Rate{1, period}, burst};
}

inline policy::Limit limit(std::string name, Numbers numbers,
                           const std::vector<std::string>& key_parts = {}) {
  policy::Limit limit;
  limit.name = std::move(name);
  limit.numbers = {std::move(numbers)};
  limit.key = key(key_parts);
  return limit;
}

inline policy::Policy policy_of(std::vector<policy::Limit> limits) {
  policy::Policy policy;
  policy.limits = std::move(limits);
  return policy;
}

}  // namespace weir::engine
