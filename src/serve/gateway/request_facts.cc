#include "serve/gateway/request_facts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/letters.h"
#include "serve/gateway/request_id.h"
#include "wire/http1/cookies.h"
#include "wire/http1/query.h"

namespace weir::gateway {
namespace {

// Names that Connection fields may list. Each field is looked for among them as it is passed on:
// lists without end would take a loop's time from everybody else.
constexpr std::size_t kMaxListed = 64;

bool lists_too_many(const http1::Headers& headers) {
  if (!headers.has(http1::HeaderId::kConnection)) return false;
  std::size_t listed = 0;
  for (const http1::Header field : headers) {
    if (field.id != http1::HeaderId::kConnection) continue;
    listed += 1 + static_cast<std::size_t>(std::ranges::count(field.value, ','));
  }
  return listed > kMaxListed;
}

}  // namespace

Result<bool> RequestFacts::read(const policy::Identity& identity, const policy::Paths& paths,
                                const IpAddress& peer, Instant now) {
  if (lists_too_many(head_.headers)) {
    return Error{ErrorCode::kInvalid,
                 "connection lists more than " + std::to_string(kMaxListed) + " names"};
  }
  Result<policy::NormalPath> path = policy::normalise_path(head_.path, paths, buffer_);
  if (!path) return path.error();
  method_ = head_.method;
  path_ = path->match;
  upstream_path_ = path->upstream;
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

std::optional<std::string_view> RequestFacts::header(std::string_view name,
                                                     std::size_t index) const {
  if (!request_id_.empty() && equals_ignore_case(name, kRequestIdHeader)) {
    return index == 0 ? std::optional(request_id_) : std::nullopt;
  }
  for (const http1::Header field : head_.headers) {
    if (equals_ignore_case(field.name, name) && index-- == 0) return field.value;
  }
  return std::nullopt;
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
