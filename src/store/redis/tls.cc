#include "store/redis/tls.h"

#include <openssl/ssl.h>

#include "net/asio.h"

namespace weir::store::redis {
namespace {

Error cannot(const std::string& what, const std::string& file, const net::SystemError& error) {
  return Error{ErrorCode::kInvalid,
               "store." + what + ": cannot use " + file + ": " + error.message()};
}

}  // namespace

Tls::Tls() : context_(boost::asio::ssl::context::tls_client) {
  context_.set_options(boost::asio::ssl::context::no_sslv3 | boost::asio::ssl::context::no_tlsv1 |
                       boost::asio::ssl::context::no_tlsv1_1);
  context_.set_verify_mode(boost::asio::ssl::verify_peer);
}

Result<std::shared_ptr<Tls>> Tls::make(const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    return Error{ErrorCode::kInvalid, files.cert.empty()
                                          ? "store.key is given without store.cert; give both"
                                          : "store.cert is given without store.key; give both"};
  }
  std::shared_ptr<Tls> tls(new Tls);
  net::SystemError error;
  if (files.ca.empty()) {
    tls->context_.set_default_verify_paths(error);
  } else {
    tls->context_.load_verify_file(files.ca, error);
    if (error) return cannot("ca", files.ca, error);
  }
  if (!files.cert.empty()) {
    tls->context_.use_certificate_chain_file(files.cert, error);
    if (error) return cannot("cert", files.cert, error);
    tls->context_.use_private_key_file(files.key, boost::asio::ssl::context::pem, error);
    if (error) return cannot("key", files.key, error);
    if (SSL_CTX_check_private_key(tls->context_.native_handle()) != 1) {
      return Error{ErrorCode::kInvalid,
                   "store.key: " + files.key + " is not the key of " + files.cert};
    }
  }
  tls->server_name_ = files.server_name;
  return tls;
}

}  // namespace weir::store::redis
