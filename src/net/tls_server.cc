#include "net/tls_server.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <string_view>

#include "net/tls_files.h"

namespace weir::net {
namespace {

// Ties tickets to this use of TLS; who may resume is decided by their key.
constexpr unsigned char kSessionContext[] = "weir";

// Chooses our protocol when the client offers it. One that offers only others is told so: whatever
// it would say next, we would not understand it (RFC 7301 section 3.2).
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned offered_size, void* ours_pointer) {
  const auto& ours = *static_cast<const std::string*>(ours_pointer);
  for (unsigned at = 0; at < offered_size;) {
    const unsigned size = offered[at];
    if (at + 1 + size > offered_size) break;
    const std::string_view name(reinterpret_cast<const char*>(offered) + at + 1, size);
    if (name == ours) {
      *out = offered + at + 1;
      *out_size = static_cast<unsigned char>(size);
      return SSL_TLSEXT_ERR_OK;
    }
    at += 1 + size;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool is_for(const SSL_CTX* context, std::string_view host) {
  X509* const certificate = SSL_CTX_get0_certificate(context);
  return certificate != nullptr &&
         X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1;
}

Result<bool> ask_for_certificates(SSL_CTX* context, const std::string& file) {
  if (auto trusted = trust_authorities(context, file); !trusted) return trusted;
  SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(file.c_str()));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return true;
}

}  // namespace

std::vector<std::string> TlsServerFiles::names() const {
  std::vector<std::string> all;
  for (const Certificate& one : certificates) {
    all.push_back(one.cert);
    all.push_back(one.key);
  }
  if (!client_ca.empty()) all.push_back(client_ca);
  return all;
}

struct TlsServer::Contexts {
  std::vector<SslContext> all;  // one a certificate

  // The one that is for the host which the client names.
  static int choose(SSL* ssl, int*, void* contexts) {
    const char* const host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (host == nullptr) return SSL_TLSEXT_ERR_NOACK;
    for (const SslContext& one : static_cast<const Contexts*>(contexts)->all) {
      if (!is_for(one.get(), host)) continue;
      SSL_set_SSL_CTX(ssl, one.get());
      return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
  }
};

Result<std::unique_ptr<TlsServer>> TlsServer::make(const TlsServerFiles& files,
                                                   std::string protocol) {
  std::unique_ptr<TlsServer> server(new TlsServer(std::move(protocol)));
  const auto use = server->prepare(files);
  if (!use) return use.error();
  (*use)();
  return server;
}

Result<std::shared_ptr<TlsServer::Contexts>> TlsServer::read(const TlsServerFiles& files) const {
  auto contexts = std::make_shared<Contexts>();
  for (const TlsServerFiles::Certificate& one : files.certificates) {
    SslContext context = make_ssl_context(TLS_server_method());
    if (!context) return Error{ErrorCode::kIo, "TLS: " + openssl_error()};
    if (auto used = use_certificate(context.get(), one.cert, one.key); !used) return used.error();
    if (!files.client_ca.empty()) {
      auto asked = ask_for_certificates(context.get(), files.client_ca);
      if (!asked) return asked.error();
    }
    SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context.get(), 1);
    SSL_CTX_set_session_id_context(context.get(), kSessionContext, sizeof kSessionContext - 1);
    if (!protocol_.empty()) {
      SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol,
                                 const_cast<std::string*>(&protocol_));
    }
    contexts->all.push_back(std::move(context));
  }
  SSL_CTX* const first = contexts->all.front().get();
  SSL_CTX_set_tlsext_servername_callback(first, &Contexts::choose);
  SSL_CTX_set_tlsext_servername_arg(first, contexts.get());
  return contexts;
}

Result<std::function<void()>> TlsServer::prepare(const TlsServerFiles& files) {
  auto contexts = read(files);
  if (!contexts) return contexts.error();
  return std::function<void()>([this, next = std::move(*contexts)] {
    const std::lock_guard lock(mutex_);
    contexts_ = next;
  });
}

std::shared_ptr<const TlsServer::Contexts> TlsServer::current() const {
  const std::lock_guard lock(mutex_);
  return contexts_;
}

std::unique_ptr<TlsSession> TlsServer::accept(int fd) const {
  std::shared_ptr<const Contexts> contexts = current();
  ERR_clear_error();
  SSL* const ssl = SSL_new(contexts->all.front().get());
  if (ssl == nullptr) return nullptr;
  SSL_set_accept_state(ssl);
  return TlsSession::over(ssl, fd, std::move(contexts));
}

}  // namespace weir::net
