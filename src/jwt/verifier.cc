#include "jwt/verifier.h"

#include <jwt.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/text_file.h"
#include "jwt/keys.h"

namespace weir::jwt {
namespace {

constexpr std::size_t kMaxKeyFile = 1 << 20;
constexpr std::int64_t kLeewayNs = Verifier::kLeeway.count();

Error bad(std::string message) {
  return {ErrorCode::kInvalid, std::move(message)};
}

// RFC 7518 section 3.2: a secret is at least as long as the hash.
std::size_t least_secret(std::string_view algorithm) {
  if (algorithm == "HS384") return 48;
  if (algorithm == "HS512") return 64;
  return 32;
}

// Every algorithm that is listed must have its key.
Result<bool> check_keys(const std::vector<Key>& keys, const std::vector<std::string>& algorithms) {
  for (const std::string& algorithm : algorithms) {
    bool found = false;
    for (const Key& key : keys) {
      if (!fits(key, algorithm)) continue;
      found = true;
      if (key.family == "HS" && key.material.size() < least_secret(algorithm)) {
        return bad("holds a secret of " + std::to_string(key.material.size()) + " bytes; " +
                   algorithm + " wants " + std::to_string(least_secret(algorithm)) + " or more");
      }
    }
    if (!found) return bad("holds no key for " + algorithm + ", which algorithms lists");
  }
  return true;
}

Result<std::vector<Key>> load_keys(const policy::Jwt& settings) {
  const auto in_file = [&](const Error& error) {
    return Error{error.code, "identity.jwt: " + settings.keys + ": " + error.message};
  };
  const auto text = read_text_file(settings.keys, kMaxKeyFile);
  if (!text) return in_file(text.error());
  auto keys = read_keys(text->text);
  if (!keys) return in_file(keys.error());
  const auto right = check_keys(*keys, settings.algorithms);
  if (!right) return in_file(right.error());
  return keys;
}

// libjwt's word on the signature. It reads the algorithm from the token, which is why the caller
// has made sure of it, and looks again.
bool is_signed_by(const std::string& token, const Key& key, std::string_view algorithm) {
  jwt_t* decoded = nullptr;
  const auto* material = reinterpret_cast<const unsigned char*>(key.material.data());
  const int failed =
      jwt_decode(&decoded, token.c_str(), material, static_cast<int>(key.material.size()));
  if (failed != 0) return false;
  const char* checked = jwt_alg_str(jwt_get_alg(decoded));
  const bool same = checked != nullptr && algorithm == checked;
  jwt_free(decoded);
  return same;
}

std::string claim_of(const policy::AttributeSource& source) {
  return source.kind == policy::AttributeSource::Kind::kJwt ? source.name : "";
}

metrics::Counter tokens(metrics::Registry* registry, const char* result) {
  if (registry == nullptr) return {};
  return registry->counter("weir_tokens_total", "Bearer tokens that were looked at, by result.",
                           {{"result", result}});
}

bool is_timely(const Verified& token, std::int64_t now_ns) {
  const auto later = [](std::int64_t ns) {
    return ns > std::numeric_limits<std::int64_t>::max() - kLeewayNs ? ns : ns + kLeewayNs;
  };
  return later(now_ns) >= token.not_before_ns && now_ns < later(token.expires_ns);
}

}  // namespace

struct Verifier::KeysInForce {
  std::vector<Key> keys;
  VerifiedTokens known;
};

Verifier::Verifier(const policy::Identity& identity, metrics::Registry* registry)
    : settings_(*identity.jwt),
      user_claim_(claim_of(identity.user)),
      tier_claim_(claim_of(identity.tier)),
      valid_(tokens(registry, "valid")),
      untimely_(tokens(registry, "untimely")),
      refused_(tokens(registry, "refused")) {}

Verifier::~Verifier() = default;

Result<std::shared_ptr<Verifier>> Verifier::open(const policy::Identity& identity,
                                                 metrics::Registry* registry) {
  std::shared_ptr<Verifier> verifier(new Verifier(identity, registry));
  const auto read = verifier->read_keys_again();
  if (!read) return read.error();
  return verifier;
}

Result<bool> Verifier::read_keys_again() {
  auto keys = load_keys(settings_);
  if (!keys) return keys.error();
  auto fresh = std::make_shared<KeysInForce>();
  fresh->keys = *std::move(keys);
  keys_.store(std::move(fresh));
  return true;
}

bool Verifier::has_secret() const {
  const auto now = keys_.load();
  return std::any_of(now->keys.begin(), now->keys.end(),
                     [](const Key& key) { return key.family == "HS"; });
}

policy::TokenClaimsPtr Verifier::verify(std::string_view token, std::int64_t now_ns) const {
  const VerifiedPtr verified = find_or_check(token);
  if (!verified) {
    refused_.add();
    return nullptr;
  }
  if (!is_timely(*verified, now_ns)) {
    untimely_.add();
    return nullptr;
  }
  valid_.add();
  return {verified, &verified->claims};
}

VerifiedPtr Verifier::find_or_check(std::string_view token) const {
  if (token.empty() || token.size() > kMaxTokenBytes) return nullptr;
  const auto keys = keys_.load();
  const auto digest = VerifiedTokens::digest_of(token);
  if (VerifiedPtr known = keys->known.find(digest)) return known;
  auto checked = check(token, *keys);
  if (!checked) return nullptr;
  keys->known.add(digest, *checked);
  return *checked;
}

Result<VerifiedPtr> Verifier::check(std::string_view token, const KeysInForce& keys) const {
  const auto read = read_token(token);
  if (!read) return read.error();
  const auto& listed = settings_.algorithms;
  if (std::find(listed.begin(), listed.end(), read->algorithm) == listed.end()) {
    return bad("the token's algorithm is not listed");
  }
  const std::string text(token);
  const bool is_signed = std::any_of(keys.keys.begin(), keys.keys.end(), [&](const Key& key) {
    const bool named = key.id.empty() || read->key_id.empty() || key.id == read->key_id;
    return named && fits(key, read->algorithm) && is_signed_by(text, key, read->algorithm);
  });
  if (!is_signed) return bad("the token is signed by none of the keys");
  const auto validity = read_validity(read->payload);
  if (!validity) return validity.error();
  if (!settings_.issuer.empty() && read_claim(read->payload, "iss") != settings_.issuer) {
    return bad("the token comes from another issuer");
  }
  if (!settings_.audience.empty() && !has_audience(read->payload, settings_.audience)) {
    return bad("the token is for another audience");
  }
  auto verified = std::make_shared<Verified>();
  if (!user_claim_.empty()) verified->claims.user = read_claim(read->payload, user_claim_);
  if (!tier_claim_.empty()) verified->claims.tier = read_claim(read->payload, tier_claim_);
  verified->not_before_ns = validity->not_before_ns;
  verified->expires_ns = validity->expires_ns;
  return VerifiedPtr(std::move(verified));
}

}  // namespace weir::jwt
