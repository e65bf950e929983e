// Verifier: whether a token was signed by one of the keys of the policy, and what it then says.
// libjwt checks the signature, for exactly the algorithms that the policy lists.
//
// `alg: none` is never among them. Which key may check a token is decided by the key's own kind,
// never by the token's word alone (keys.h). What was found right is remembered until the keys
// change; the times in a token are looked at each time.
//
// THREADS: any; read_keys_again() from one at a time.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/published.h"
#include "jwt/token.h"
#include "jwt/verified_tokens.h"
#include "policy/identity.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::jwt {

class Verifier final : public policy::Tokens {
 public:
  // Clocks that differ are forgiven this much, at both ends of a token's time.
  static constexpr Duration kLeeway = std::chrono::seconds(30);

  // Reads the keys. `registry`, where given, counts tokens by what became of them.
  // REQUIRES: identity.jwt, and the registry outlives it.
  // ERRORS: kInvalid, kIo: the file cannot be read, holds no keys, or none for an algorithm that
  // is listed; the message names the file.
  static Result<std::shared_ptr<Verifier>> open(const policy::Identity& identity,
                                                metrics::Registry* registry = nullptr);
  ~Verifier() override;

  policy::TokenClaimsPtr verify(std::string_view token, std::int64_t now_ns) const override;

  // The file that holds the keys, and whether one of them is a secret.
  const std::string& file() const { return settings_.keys; }
  bool has_secret() const;
  // Reads the keys again; forgets what the old ones found right. ERRORS: as open(); then the old
  // ones stay.
  Result<bool> read_keys_again();

 private:
  struct KeysInForce;

  Verifier(const policy::Identity& identity, metrics::Registry* registry);
  Result<VerifiedPtr> check(std::string_view token, const KeysInForce& keys) const;
  VerifiedPtr find_or_check(std::string_view token) const;

  const policy::Jwt settings_;
  const std::string user_claim_;  // empty: `user` comes from elsewhere
  const std::string tier_claim_;
  metrics::Counter valid_;
  metrics::Counter untimely_;
  metrics::Counter refused_;
  Published<KeysInForce> keys_;
};

}  // namespace weir::jwt
