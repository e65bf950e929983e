#include "engine/sent_attributes.h"

#include "policy/path.h"

namespace weir::engine {
namespace {

using policy::Attribute;

constexpr std::size_t kMaxKeptValues = 16;
constexpr std::size_t kMaxKeptBytes = 1024;  // of one value

BadField bad(const Attribute& attribute, std::string message) {
  return {"attributes." + policy::to_string(attribute), std::move(message)};
}

// Paths and hosts as the gateway would see them. What is wrong, or nothing.
std::optional<std::string> normalise(const Attribute& attribute, std::string_view value,
                                     const policy::Policy& policy, std::string& out) {
  if (attribute.kind == Attribute::Kind::kPath) {
    const auto target = policy::split_target(value);
    if (!target) return target.error().message;
    policy::PathBuffer buffer;
    const auto path = policy::normalise_path(target->path, policy.paths, buffer);
    if (!path) return path.error().message;
    out.assign(path->match);
    return std::nullopt;
  }
  if (attribute.kind == Attribute::Kind::kHost) {
    const auto host = policy::normalise_host(value);
    if (!host) return host.error().message;
    out = host->value_or("");
    return std::nullopt;
  }
  out = value;
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> SentAttributes::find(const Attribute& attribute) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (values_[i].first == attribute) return values_[i].second;
  }
  return std::nullopt;
}

std::optional<BadField> SentAttributes::add(std::string_view name, std::string_view value,
                                            const policy::Policy& policy) {
  const auto attribute = policy::parse_attribute(name, policy.attributes);
  if (!attribute) {
    return BadField{"attributes." + std::string(name),
                    "is no attribute; there are ip, user, tier, method, path, host, header.NAME, "
                    "cookie.NAME, query.NAME, domain, message, and those that the policy declares"};
  }
  return add(*attribute, value, policy);
}

std::optional<BadField> SentAttributes::add(const Attribute& attribute, std::string_view value,
                                            const policy::Policy& policy) {
  if (attribute.kind == Attribute::Kind::kIp) {
    if (ip_) return bad(attribute, "is named twice");
    ip_ = IpAddress::parse(value);
    if (!ip_) return bad(attribute, "is no IP address");
    return std::nullopt;
  }
  // An empty user or tier is none, as in the gateway.
  const bool names_caller =
      attribute.kind == Attribute::Kind::kUser || attribute.kind == Attribute::Kind::kTier;
  if (names_caller && value.empty()) return std::nullopt;
  if (find(attribute)) return bad(attribute, "is named twice");
  Value& kept = next();
  if (auto mistake = normalise(attribute, value, policy, kept.second)) {
    return bad(attribute, *std::move(mistake));
  }
  kept.first.kind = attribute.kind;
  // WHY asked first: most kinds have no name, and to assign one is a call all the same.
  if (!attribute.name.empty() || !kept.first.name.empty()) kept.first.name = attribute.name;
  ++count_;
  return std::nullopt;
}

SentAttributes::Value& SentAttributes::next() {
  return count_ == values_.size() ? values_.emplace_back() : values_[count_];
}

void SentAttributes::clear() {
  ip_.reset();
  if (values_.size() > kMaxKeptValues) values_.resize(kMaxKeptValues);
  for (Value& value : values_) {
    if (value.second.capacity() > kMaxKeptBytes) value.second = {};
  }
  count_ = 0;
}

}  // namespace weir::engine
