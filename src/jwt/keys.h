// The keys that tokens are checked with, as a file holds them. Told by the first bytes:
//
//   -----BEGIN PUBLIC KEY-----   PEM: public keys and certificates, RSA and elliptic curves
//   {"keys": [...]}              a JSON Web Key Set (RFC 7517): RSA, EC, oct
//   anything else                one secret, for HS256 and its like; newlines at its end are not of
//   it
//
// A key serves the algorithms of its own kind only. So a public key, which everybody may know, is
// never the secret of an HS256.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::jwt {

struct Key {
  std::string family;    // "HS", "RS", "ES256", "ES384", "ES512": what its algorithms begin with
  std::string material;  // a public key as PEM, or the secret itself
  std::string id;        // `kid`; empty: fits every token
  std::string only;      // `alg` of a key set; empty: every algorithm of the family
};

// Whether the key can check tokens of this algorithm.
bool fits(const Key& key, std::string_view algorithm);

// ERRORS: kInvalid for text that holds no key or a weak one: an RSA key under 2048 bits, a private
// key, in PEM a curve that no algorithm names; never a part of the text.
Result<std::vector<Key>> read_keys(std::string_view text);

}  // namespace weir::jwt
