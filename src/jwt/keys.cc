#include "jwt/keys.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>

#include "base/base64url.h"
#include "base/json.h"
#include "jwt/public_key.h"

namespace weir::jwt {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxKeys = 64;

Error bad(std::string message) {
  return {ErrorCode::kInvalid, std::move(message)};
}

std::string text_of(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(std::string_view(*text));
}

// A member that is base64url; empty where it is not.
std::string bytes_of(const json::object& object, const char* name) {
  return decode_base64url(text_of(object, name)).value_or("");
}

Result<Key> read_jwk(const json::object& jwk, const std::string& type) {
  if (type == "RSA") return make_rsa(bytes_of(jwk, "n"), bytes_of(jwk, "e"));
  if (type == "EC") return make_ec(text_of(jwk, "crv"), bytes_of(jwk, "x"), bytes_of(jwk, "y"));
  const std::string secret = bytes_of(jwk, "k");
  if (secret.empty()) return bad("a key of the type oct has no k");
  return Key{"HS", secret, {}, {}};
}

// Keys of other types, on other curves, and those for encryption, are somebody else's (RFC 7517
// section 5).
bool is_for_us(const json::object& jwk, const std::string& type) {
  const std::string use = text_of(jwk, "use");
  const std::string curve = type == "EC" ? text_of(jwk, "crv") : "";
  if (!curve.empty() && !is_known_curve(curve)) return false;
  return (type == "RSA" || type == "EC" || type == "oct") && (use.empty() || use == "sig");
}

Result<std::vector<Key>> read_key_set(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return bad("it is no key set: not right JSON");
  const json::object* set = parsed->if_object();
  const json::value* member = set == nullptr ? nullptr : set->if_contains("keys");
  const json::array* list = member == nullptr ? nullptr : member->if_array();
  if (list == nullptr) return bad("it is no key set: wants {\"keys\": [...]}");
  if (list->size() > kMaxKeys) return bad("it holds more than 64 keys");
  std::vector<Key> keys;
  for (const json::value& value : *list) {
    const json::object* jwk = value.if_object();
    if (jwk == nullptr) return bad("a key of the set is no object");
    const std::string type = text_of(*jwk, "kty");
    if (!is_for_us(*jwk, type)) continue;
    auto key = read_jwk(*jwk, type);
    if (!key) return key.error();
    key->id = text_of(*jwk, "kid");
    key->only = text_of(*jwk, "alg");
    keys.push_back(*std::move(key));
  }
  if (keys.empty()) return bad("it is a key set without a key that signs");
  return keys;
}

}  // namespace

bool fits(const Key& key, std::string_view algorithm) {
  return algorithm.starts_with(key.family) && (key.only.empty() || key.only == algorithm);
}

Result<std::vector<Key>> read_keys(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return bad("it is empty");
  const std::string_view start = text.substr(begin);
  if (start.starts_with('{')) return read_key_set(text);
  if (text.find("-----BEGIN ") != text.npos) {
    auto keys = read_pem(text);
    if (keys && keys->size() > kMaxKeys) return bad("it holds more than 64 keys");
    return keys;
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return std::vector<Key>{{"HS", std::string(text), {}, {}}};
}

}  // namespace weir::jwt
