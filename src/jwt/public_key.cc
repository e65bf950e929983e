#include "jwt/public_key.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace weir::jwt {
namespace {

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* thing) const {
    kFree(thing);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Pkey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using PkeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;

constexpr int kLeastRsaBits = 2048;

struct Curve {
  std::string_view jwk;
  const char* group;
  const char* family;
  std::size_t bytes;  // of a coordinate
};
constexpr std::array<Curve, 3> kCurves{{{"P-256", "prime256v1", "ES256", 32},
                                        {"P-384", "secp384r1", "ES384", 48},
                                        {"P-521", "secp521r1", "ES512", 66}}};

Error bad(std::string message) {
  ERR_clear_error();
  return {ErrorCode::kInvalid, std::move(message)};
}

std::string group_of(const EVP_PKEY* key) {
  char name[64] = {};
  if (EVP_PKEY_get_group_name(key, name, sizeof name, nullptr) != 1) return "";
  return name;
}

// Which algorithms the key is for.
Result<std::string> family_of(const EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA) {
    const int bits = EVP_PKEY_get_bits(key);
    if (bits >= kLeastRsaBits) return std::string("RS");
    return bad("an RSA key has " + std::to_string(bits) + " bits, wants 2048 or more");
  }
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC) {
    const std::string group = group_of(key);
    for (const Curve& curve : kCurves) {
      if (group == curve.group) return std::string(curve.family);
    }
    return bad("a key is on the curve " + group + ", wants P-256, P-384 or P-521");
  }
  return bad("a key is neither RSA nor on an elliptic curve of ES256, ES384 or ES512");
}

Result<Key> make_key(const EVP_PKEY* key) {
  auto family = family_of(key);
  if (!family) return family.error();
  const Bio out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_PUBKEY(out.get(), key) != 1) return bad("a key cannot be written");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return Key{*std::move(family), std::string(data, static_cast<std::size_t>(size)), {}, {}};
}

// One block of a PEM file.
struct Block {
  std::string name;
  std::vector<unsigned char> bytes;
};

std::optional<Block> next_block(BIO* in) {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  if (PEM_read_bio(in, &name, &header, &data, &size) != 1) {
    ERR_clear_error();
    return std::nullopt;
  }
  Block block{name, {data, data + size}};
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  return block;
}

Pkey key_of(const Block& block) {
  const unsigned char* at = block.bytes.data();
  const auto size = static_cast<long>(block.bytes.size());
  if (block.name == PEM_STRING_PUBLIC) return Pkey(d2i_PUBKEY(nullptr, &at, size));
  if (block.name == PEM_STRING_RSA_PUBLIC) {
    return Pkey(d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, size));
  }
  if (block.name == PEM_STRING_X509) {
    const Certificate certificate(d2i_X509(nullptr, &at, size));
    return Pkey(certificate ? X509_get_pubkey(certificate.get()) : nullptr);
  }
  return nullptr;
}

Result<Key> build(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* made = nullptr;
  const bool right =
      params && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  const Pkey key(made);
  if (!right || !key) return bad("a key's numbers make no key");
  return make_key(key.get());
}

Number number(std::string_view bytes) {
  return Number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<int>(bytes.size()), nullptr));
}

}  // namespace

Result<std::vector<Key>> read_pem(std::string_view text) {
  const Bio in(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  std::vector<Key> keys;
  while (const auto block = next_block(in.get())) {
    if (block->name.find("PRIVATE KEY") != std::string::npos) {
      return bad("it holds a private key; the public one is enough here");
    }
    const Pkey key = key_of(*block);
    if (!key) return bad("a block " + block->name + " is no public key and no certificate");
    auto made = make_key(key.get());
    if (!made) return made.error();
    keys.push_back(*std::move(made));
  }
  if (keys.empty()) return bad("its PEM holds no public key");
  return keys;
}

Result<Key> make_rsa(std::string_view modulus, std::string_view exponent) {
  const Builder builder(OSSL_PARAM_BLD_new());
  const Number n = number(modulus);
  const Number e = number(exponent);
  if (!builder || !n || !e || OSSL_PARAM_BLD_push_BN(builder.get(), "n", n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), "e", e.get()) != 1) {
    return bad("a key's numbers make no key");
  }
  return build("RSA", builder.get());
}

bool is_known_curve(std::string_view name) {
  return std::any_of(kCurves.begin(), kCurves.end(),
                     [name](const Curve& curve) { return curve.jwk == name; });
}

Result<Key> make_ec(std::string_view curve, std::string_view x, std::string_view y) {
  for (const Curve& known : kCurves) {
    if (known.jwk != curve) continue;
    if (x.size() != known.bytes || y.size() != known.bytes) {
      return bad("a coordinate of a key has the wrong size");
    }
    std::string point = "\x04";  // uncompressed
    point.append(x).append(y);
    const Builder builder(OSSL_PARAM_BLD_new());
    if (!builder ||
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, known.group,
                                        0) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1) {
      return bad("a key's numbers make no key");
    }
    return build("EC", builder.get());
  }
  return bad("a key's curve is none of P-256, P-384 and P-521");
}

}  // namespace weir::jwt
