// SentAttributes: what a caller of the APIs says of a request, normalised as the gateway would.
//
// THREADS: plain values.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/attributes.h"
#include "policy/policy.h"

namespace weir::engine {

// What is wrong with a request, and where: `field` is a path such as "attributes.ip".
struct BadField {
  std::string field;
  std::string message;
};

class SentAttributes final : public Attributes {
 public:
  std::optional<std::string_view> find(const policy::Attribute& attribute) const override;
  std::optional<IpAddress> ip() const override { return ip_; }

  // Keeps one attribute. Nothing when it is right. A name that stands twice is a mistake.
  std::optional<BadField> add(std::string_view name, std::string_view value,
                              const policy::Policy& policy);
  std::optional<BadField> add(const policy::Attribute& attribute, std::string_view value,
                              const policy::Policy& policy);

  // For callers who cannot say when a call has ended.
  bool can_release() const override { return can_release_; }
  void never_released() { can_release_ = false; }

  // Forgets all but that, keeps the memory of values of a usual length.
  void clear();

 private:
  using Value = std::pair<policy::Attribute, std::string>;

  // Where the next value goes; it counts once count_ says so.
  Value& next();

  std::optional<IpAddress> ip_;
  std::vector<Value> values_;  // the first count_; those behind are memory for more
  std::size_t count_ = 0;
  bool can_release_ = true;
};

}  // namespace weir::engine
