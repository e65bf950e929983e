#include "engine/request_attributes.h"

namespace weir::engine {
namespace {

std::optional<std::string_view> value_of(const policy::RequestFields::Found& found) {
  if (found.count == 0) return std::nullopt;
  return found.value;
}

}  // namespace

std::optional<std::string_view> RequestAttributes::find(const policy::Attribute& attribute) const {
  using Kind = policy::Attribute::Kind;
  switch (attribute.kind) {
    case Kind::kUser:
      return client_.user;
    case Kind::kTier:
      return client_.tier;
    case Kind::kMethod:
      return method_;
    case Kind::kPath:
      return path_;
    case Kind::kHost:
      if (!host_) return std::nullopt;
      return std::string_view(*host_);
    case Kind::kHeader:
      return joined_header(attribute.name);
    case Kind::kCookie:
      return value_of(cookie(attribute.name));
    case Kind::kQuery:
      return value_of(query(attribute.name));
    case Kind::kIp:
    case Kind::kDomain:
    case Kind::kMessage:
    case Kind::kMessagePointer:
    case Kind::kDeclared:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string_view> RequestAttributes::joined_header(std::string_view name) const {
  const auto first = header(name, 0);
  if (!first || !header(name, 1)) return first;
  std::string& joined = made_.emplace_front(*first);
  for (std::size_t i = 1; const auto more = header(name, i); ++i) {
    joined += ", ";
    joined += *more;
  }
  return joined;
}

}  // namespace weir::engine
