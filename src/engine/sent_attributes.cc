#include "engine/sent_attributes.h"

#include "policy/path.h"

namespace weir::engine {
namespace {

using policy::Attribute;

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
    out = path->match;
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
  for (const auto& [known, value] : values_) {
    if (known == attribute) return value;
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
  if (find(attribute)) return bad(attribute, "is named twice, spelled differently");
  std::string normal;
  if (auto mistake = normalise(attribute, value, policy, normal)) {
    return bad(attribute, *std::move(mistake));
  }
  values_.emplace_back(attribute, std::move(normal));
  return std::nullopt;
}

void SentAttributes::clear() {
  ip_.reset();
  values_.clear();
}

}  // namespace weir::engine
