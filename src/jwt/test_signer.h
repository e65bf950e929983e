// Tokens and keys for tests, made by OpenSSL alone: libjwt is what is tested. Tests only.

#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/base64url.h"

namespace weir::jwt {

using TestKey = std::shared_ptr<EVP_PKEY>;

inline TestKey make_rsa_key(unsigned bits = 2048) {
  return {EVP_RSA_gen(bits), EVP_PKEY_free};
}

inline TestKey make_ec_key(const char* curve = "P-256") {
  return {EVP_EC_gen(curve), EVP_PKEY_free};
}

inline std::string pem_of(const TestKey& key, bool is_private = false) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (is_private) {
    PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  } else {
    PEM_write_bio_PUBKEY(out.get(), key.get());
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

inline const EVP_MD* hash_of(std::string_view algorithm) {
  if (algorithm.ends_with("384")) return EVP_sha384();
  return algorithm.ends_with("512") ? EVP_sha512() : EVP_sha256();
}

// What a private key says of a text: for RSA as it is, for a curve as r and s side by side.
inline std::string sign(const TestKey& key, std::string_view algorithm, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  EVP_DigestSignInit(context.get(), nullptr, hash_of(algorithm), nullptr, key.get());
  std::size_t size = 0;
  EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size());
  std::string signature(size, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                 text.size());
  signature.resize(size);
  if (!algorithm.starts_with("ES")) return signature;
  const auto* der = reinterpret_cast<const unsigned char*>(signature.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
      d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size)), ECDSA_SIG_free);
  const int half = (EVP_PKEY_get_bits(key.get()) + 7) / 8;
  std::string raw(static_cast<std::size_t>(2 * half), '\0');
  auto* at = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), at, half);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), at + half, half);
  return raw;
}

inline std::string sign(std::string_view secret, std::string_view algorithm,
                        std::string_view text) {
  unsigned size = 0;
  unsigned char out[EVP_MAX_MD_SIZE];
  HMAC(hash_of(algorithm), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &size);
  return {reinterpret_cast<const char*>(out), size};
}

// A token whose header says `header`, signed as `algorithm` has it.
template <typename Secret>
std::string make_token(const Secret& key, std::string_view algorithm, std::string_view payload,
                       std::string_view header) {
  std::string token;
  append_base64url(token, header);
  token += '.';
  append_base64url(token, payload);
  const std::string signature = sign(key, algorithm, token);
  token += '.';
  append_base64url(token, signature);
  return token;
}

template <typename Secret>
std::string make_token(const Secret& key, std::string_view algorithm, std::string_view payload) {
  return make_token(key, algorithm, payload,
                    "{\"alg\":\"" + std::string(algorithm) + "\",\"typ\":\"JWT\"}");
}

}  // namespace weir::jwt
