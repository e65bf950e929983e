#include "net/tls_files.h"

#include <openssl/err.h>
#include <string.h>

namespace weir::net {
namespace {

// Of TLS 1.2; those of 1.3 are all of this kind.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

Error cannot_use(const std::string& file) {
  return Error{ErrorCode::kInvalid, "cannot use " + file + ": " + openssl_error()};
}

}  // namespace

std::string openssl_error() {
  // The first error is the reason, the others are who passed it on.
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  if (ERR_SYSTEM_ERROR(code)) return strerror(ERR_GET_REASON(code));
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

SslContext make_ssl_context(const SSL_METHOD* method) {
  SslContext context(SSL_CTX_new(method));
  if (!context) return context;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context.get(), kCiphers);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE |
                                         SSL_OP_PRIORITIZE_CHACHA);
  // A write that was held up may go on from another place in memory, and take less.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context.get(), 1);  // a record's head and body by one system call
  return context;
}

Result<bool> use_chain(SSL_CTX* context, const std::string& cert) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, cert.c_str()) != 1) return cannot_use(cert);
  return true;
}

Result<bool> use_key(SSL_CTX* context, const std::string& key, const std::string& cert) {
  ERR_clear_error();
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long code = ERR_peek_error();
    if (ERR_GET_LIB(code) == ERR_LIB_X509) {
      ERR_clear_error();
      return Error{ErrorCode::kInvalid, key + " is not the key of " + cert};
    }
    return cannot_use(key);
  }
  return true;
}

Result<bool> use_certificate(SSL_CTX* context, const std::string& cert, const std::string& key) {
  auto used = use_chain(context, cert);
  if (used) used = use_key(context, key, cert);
  return used;
}

Result<bool> trust_authorities(SSL_CTX* context, const std::string& file) {
  ERR_clear_error();
  if (SSL_CTX_load_verify_file(context, file.c_str()) != 1) return cannot_use(file);
  return true;
}

}  // namespace weir::net
