// Public keys by OpenSSL: what a file, a certificate or a key set says, brought into one form.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jwt/keys.h"
#include "weir/result.h"

namespace weir::jwt {

// Every public key and certificate of a PEM text. ERRORS: as read_keys().
Result<std::vector<Key>> read_pem(std::string_view text);

// By modulus and exponent, big-endian. ERRORS: as read_keys().
Result<Key> make_rsa(std::string_view modulus, std::string_view exponent);

// Whether an algorithm is for keys on the curve that a JWK calls so.
bool is_known_curve(std::string_view name);

// By a point of "P-256", "P-384" or "P-521". ERRORS: as read_keys().
Result<Key> make_ec(std::string_view curve, std::string_view x, std::string_view y);

}  // namespace weir::jwt
