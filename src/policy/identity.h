// Identity: who a request comes from, as the policy says and as nobody else can say.
//
// The client's address has exactly one source. Headers are read from trusted proxies only; a chain
// is walked from the right, over all its lines in order, until the first hop that is not trusted.
// A hop that is no address ends the walk: the client is the trusted hop that vouched for it, since
// whatever stands to the left of garbage may have been written by the client.
//
// User and tier are believed from trusted proxies only, unless the policy trusts clients; the
// claims of a bearer token by its signature, from everybody. A token that is not right names
// nobody. A header, cookie or query parameter that names an identity and stands twice is an error
// for everybody.
//
// THREADS: pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip.h"
#include "policy/policy.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::policy {

// What identity asks of a request; implemented by each listener over the bytes it has. Views live
// as long as the request.
class RequestFields {
 public:
  // How often a name stands in a request, and its first value.
  struct Found {
    std::string_view value;
    std::uint32_t count = 0;
  };

  virtual ~RequestFields() = default;

  // The header lines of that name (lower case), in the order in which they were sent; nothing when
  // there are no more than `index`.
  virtual std::optional<std::string_view> header(std::string_view name,
                                                 std::size_t index) const = 0;
  virtual Found cookie(std::string_view name) const = 0;
  virtual Found query(std::string_view name) const = 0;  // decoded
};

// What a bearer token says of its caller.
struct TokenClaims {
  std::optional<std::string> user;
  std::optional<std::string> tier;
};
using TokenClaimsPtr = std::shared_ptr<const TokenClaims>;

// Checks bearer tokens. THREADS: any.
class Tokens {
 public:
  virtual ~Tokens() = default;

  // The claims of a token that is right at `now_ns` of Unix time; null for any other.
  virtual TokenClaimsPtr verify(std::string_view token, std::int64_t now_ns) const = 0;
};

struct Client {
  IpAddress ip;  // unmasked
  // The chain named something that is no address: `ip` is the last hop that could be trusted.
  bool malformed_chain = false;
  // Absent when the request does not name them, or is not to be believed.
  std::optional<std::string_view> user;
  std::optional<std::string_view> tier;
  TokenClaimsPtr token;  // where they come from one, it holds them
};

// Whether headers that say who a request comes from are believed from this peer.
bool is_trusted(const Identity& identity, const IpAddress& peer);

// `peer` is the other end of the connection, or what the PROXY protocol told of it; `now` is what
// the times in a token are held against.
// ERRORS: kInvalid (answer 400) for a repeated identity header, cookie or query parameter.
Result<Client> identify(const Identity& identity, const IpAddress& peer,
                        const RequestFields& fields, Instant now);

}  // namespace weir::policy
