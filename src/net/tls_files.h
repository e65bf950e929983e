// Certificates and keys from files, for both sides of TLS, with errors that name the file.
//
// THREADS: plain functions.

#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "weir/result.h"

namespace weir::net {

struct SslContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContext = std::unique_ptr<SSL_CTX, SslContextFree>;

// What the last failed call of OpenSSL's on this thread said; its queue of errors is empty then.
std::string openssl_error();

// TLS 1.2 and later, forward-secret suites with authenticated encryption, no compression, no
// renegotiation; buffers are given back between records.
SslContext make_ssl_context(const SSL_METHOD* method);

// A certificate's chain, and then its key, both PEM.
// ERRORS: kInvalid, naming the file and the reason; use_key's too where it is not the key of
// `cert`.
Result<bool> use_chain(SSL_CTX* context, const std::string& cert);
Result<bool> use_key(SSL_CTX* context, const std::string& key, const std::string& cert);

// Both.
Result<bool> use_certificate(SSL_CTX* context, const std::string& cert, const std::string& key);

// Whom the peer's certificate must be signed by.
// ERRORS: the same.
Result<bool> trust_authorities(SSL_CTX* context, const std::string& file);

}  // namespace weir::net
