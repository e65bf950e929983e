#include "net/tls_client.h"

#include <openssl/err.h>

#include "base/ip.h"

namespace weir::net {
namespace {

// A certificate names addresses apart from hosts, and only hosts are told to the server.
bool expect(SSL* ssl, const std::string& name) {
  if (IpAddress::parse(name)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  }
  return SSL_set1_host(ssl, name.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

}  // namespace

Result<std::shared_ptr<const TlsClient>> TlsClient::make(const TlsClientFiles& files,
                                                         std::string_view protocol) {
  std::shared_ptr<TlsClient> client(new TlsClient);
  client->context_ = make_ssl_context(TLS_client_method());
  if (!client->context_) return Error{ErrorCode::kIo, "TLS: " + openssl_error()};
  SSL_CTX* const context = client->context_.get();
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (auto trusted = trust_authorities(context, files.ca); !trusted) {
    return trusted.error();
  }
  if (!files.cert.empty()) {
    if (auto used = use_certificate(context, files.cert, files.key); !used) return used.error();
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  std::string wire(1, static_cast<char>(protocol.size()));
  wire += protocol;
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(wire.data()),
                          static_cast<unsigned>(wire.size()));
  client->server_name_ = files.server_name;
  return std::shared_ptr<const TlsClient>(std::move(client));
}

std::unique_ptr<TlsSession> TlsClient::connect(int fd, const std::string& host) const {
  ERR_clear_error();
  SSL* const ssl = SSL_new(context_.get());
  const bool ready = ssl != nullptr && expect(ssl, server_name_.empty() ? host : server_name_);
  if (!ready) {
    SSL_free(ssl);
    return nullptr;
  }
  SSL_set_connect_state(ssl);
  return TlsSession::over(ssl, fd, nullptr);
}

}  // namespace weir::net
