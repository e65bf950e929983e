#include "policy/identity.h"

#include <algorithm>
#include <string>
#include <utility>

#include "policy/forwarded.h"

namespace weir::policy {
namespace {

constexpr std::size_t kMaxHops = 64;  // trusted ones; a longer chain ends at the last of them

// The place of a walk from the right: how far the chain has been believed.
struct Walk {
  IpAddress client;
  std::size_t hops = 0;
  bool malformed = false;

  // False when the walk has ended.
  bool step(const Identity& identity, const Hop& hop) {
    malformed = !hop.address;
    if (malformed) return false;
    client = *hop.address;
    return ++hops < kMaxHops && is_trusted(identity, client);
  }
};

template <typename Hops>
Walk walk_chain(const Identity& identity, const IpAddress& peer, const RequestFields& fields,
                std::string_view name) {
  Walk walk{peer};
  std::size_t lines = 0;
  while (fields.header(name, lines)) ++lines;
  while (lines > 0) {
    Hops hops(*fields.header(name, --lines));
    while (const auto hop = hops.next()) {
      if (!walk.step(identity, *hop)) return walk;
    }
  }
  return walk;
}

// One address in one header.
Walk read_single(const IpAddress& peer, const RequestFields& fields, std::string_view name) {
  Walk walk{peer};
  const auto line = fields.header(name, 0);
  if (!line) return walk;
  const auto address = IpAddress::parse_with_port(*line);
  walk.malformed = !address;
  if (address) walk.client = *address;
  return walk;
}

// The name of the header that holds one address; empty where the source is none.
std::string_view single_header(const Identity& identity) {
  if (identity.client_ip == ClientIpSource::kXRealIp) return "x-real-ip";
  if (identity.client_ip == ClientIpSource::kHeader) return identity.client_ip_header;
  return {};
}

Walk find_client(const Identity& identity, const IpAddress& peer, const RequestFields& fields) {
  switch (identity.client_ip) {
    case ClientIpSource::kXForwardedFor:
      return walk_chain<ForwardedForHops>(identity, peer, fields, "x-forwarded-for");
    case ClientIpSource::kForwarded:
      return walk_chain<ForwardedHops>(identity, peer, fields, "forwarded");
    case ClientIpSource::kXRealIp:
    case ClientIpSource::kHeader:
      return read_single(peer, fields, single_header(identity));
    case ClientIpSource::kProxyProtocol:
    case ClientIpSource::kPeer:
      break;
  }
  return Walk{peer};
}

Error repeated(std::string_view what, std::string_view name) {
  return Error{ErrorCode::kInvalid, std::string(what) + ' ' + std::string(name) +
                                        " says who the request comes from and stands more than "
                                        "once; send it once"};
}

RequestFields::Found find_header(const RequestFields& fields, std::string_view name) {
  const auto first = fields.header(name, 0);
  if (!first) return {};
  return {*first, fields.header(name, 1) ? 2u : 1u};
}

// The value of one identity attribute. An empty one is absent: it names nobody, and must not make
// one client of all who send it.
Result<std::optional<std::string_view>> read(const AttributeSource& source,
                                             const RequestFields& fields) {
  using Kind = AttributeSource::Kind;
  RequestFields::Found found;
  std::string_view what = "header";
  if (source.kind == Kind::kHeader) found = find_header(fields, source.name);
  if (source.kind == Kind::kCookie) {
    what = "cookie";
    found = fields.cookie(source.name);
  }
  if (source.kind == Kind::kQuery) {
    what = "query parameter";
    found = fields.query(source.name);
  }
  if (found.count > 1) return repeated(what, source.name);
  if (found.count == 0 || found.value.empty()) return std::optional<std::string_view>();
  return std::optional(found.value);
}

bool is_jwt(const AttributeSource& source) {
  return source.kind == AttributeSource::Kind::kJwt;
}

// "Bearer TOKEN": the token, or nothing.
std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return std::nullopt;
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != kScheme[i]) return std::nullopt;
  }
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

// The claims of the request's token, where the policy asks for them and it is right.
Result<TokenClaimsPtr> read_token(const Identity& identity, const RequestFields& fields,
                                  Instant now) {
  if (!is_jwt(identity.user) && !is_jwt(identity.tier)) return TokenClaimsPtr();
  const auto found = find_header(fields, "authorization");
  if (found.count > 1) return repeated("header", "authorization");
  const auto token = found.count == 1 ? bearer_token(found.value) : std::nullopt;
  if (!token || identity.tokens == nullptr) return TokenClaimsPtr();
  return identity.tokens->verify(*token, now.wall_ns);
}

std::optional<std::string_view> view_of(const std::optional<std::string>& claim) {
  if (!claim) return std::nullopt;
  return std::string_view(*claim);
}

// Puts the claims in the place of what the request says itself.
void take_claims(const Identity& identity, TokenClaimsPtr claims, Client& client) {
  client.token = std::move(claims);
  const TokenClaims* said = client.token.get();
  if (is_jwt(identity.user)) client.user = said ? view_of(said->user) : std::nullopt;
  if (is_jwt(identity.tier)) client.tier = said ? view_of(said->tier) : std::nullopt;
}

}  // namespace

bool is_trusted(const Identity& identity, const IpAddress& peer) {
  return std::any_of(identity.trusted_proxies.begin(), identity.trusted_proxies.end(),
                     [&](const IpPrefix& prefix) { return prefix.contains(peer); });
}

Result<Client> identify(const Identity& identity, const IpAddress& peer,
                        const RequestFields& fields, Instant now) {
  const bool trusted = is_trusted(identity, peer);
  const std::string_view single = single_header(identity);
  if (!single.empty() && find_header(fields, single).count > 1) return repeated("header", single);
  const Walk walk = trusted ? find_client(identity, peer, fields) : Walk{peer};

  auto user = read(identity.user, fields);
  if (!user) return user.error();
  auto tier = read(identity.tier, fields);
  if (!tier) return tier.error();
  auto claims = read_token(identity, fields, now);
  if (!claims) return claims.error();
  Client client{walk.client, walk.malformed, std::nullopt, std::nullopt, nullptr};
  if (trusted || identity.trust_clients) {
    client.user = *user;
    client.tier = *tier;
  }
  take_claims(identity, *std::move(claims), client);
  return client;
}

}  // namespace weir::policy
