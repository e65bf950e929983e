#include "serve/gateway/request_facts.h"

#include <utility>

#include "wire/http1/characters.h"
#include "wire/http1/cookies.h"
#include "wire/http1/query.h"

namespace weir::gateway {
namespace {

std::optional<std::string_view> value_of(const policy::RequestFields::Found& found) {
  if (found.count == 0) return std::nullopt;
  return found.value;
}

}  // namespace

Result<bool> RequestFacts::read(const policy::Identity& identity, const policy::Paths& paths,
                                const IpAddress& peer, Instant now) {
  Result<policy::NormalPath> path = policy::normalise_path(head_.path, paths, buffer_);
  if (!path) return path.error();
  path_ = *path;
  Result<std::optional<std::string>> host = policy::normalise_host(head_.host);
  if (!host) return host.error();
  host_ = std::move(*host);
  Result<policy::Client> client = policy::identify(identity, peer, *this, now);
  if (!client) return client.error();
  client_ = *client;
  read_at_ = now;
  kept_ = made_.cbegin();
  return true;
}

void RequestFacts::forget_made() {
  while (made_.cbegin() != kept_) made_.pop_front();
}

std::optional<std::string_view> RequestFacts::find(const policy::Attribute& attribute) const {
  using Kind = policy::Attribute::Kind;
  switch (attribute.kind) {
    case Kind::kUser:
      return client_.user;
    case Kind::kTier:
      return client_.tier;
    case Kind::kMethod:
      return head_.method;
    case Kind::kPath:
      return path_.match;
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

std::optional<std::string_view> RequestFacts::header(std::string_view name,
                                                     std::size_t index) const {
  for (const http1::Header field : head_.headers) {
    if (http1::equals_ignore_case(field.name, name) && index-- == 0) return field.value;
  }
  return std::nullopt;
}

std::optional<std::string_view> RequestFacts::joined_header(std::string_view name) const {
  const http1::Found found = head_.headers.find(name);
  if (!found) return std::nullopt;
  if (!found.repeated()) return found.value;
  std::string joined(found.value);
  for (std::size_t i = 1; i < found.count; ++i) {
    joined.append(", ");
    joined.append(*header(name, i));
  }
  made_.push_front(std::move(joined));
  return std::string_view(made_.front());
}

RequestFacts::Found RequestFacts::cookie(std::string_view name) const {
  const http1::Found found = http1::find_cookie(head_.headers, name);
  return {found.value, found.count};
}

RequestFacts::Found RequestFacts::query(std::string_view name) const {
  if (!head_.has_query) return {};
  made_.emplace_front();
  const http1::Found found = http1::find_query(head_.query, name, made_.front());
  return {found.value, found.count};
}

}  // namespace weir::gateway
