#include "store/redis/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>

#include <algorithm>

#include "base/log.h"
#include "net/asio.h"

namespace weir::store::redis {
namespace {

Error cannot(const std::string& what, const std::string& file, const net::SystemError& error) {
  return Error{ErrorCode::kInvalid,
               "store." + what + ": cannot use " + file + ": " + error.message()};
}

}  // namespace

Result<std::shared_ptr<Tls::Context>> Tls::read(const TlsFiles& files) {
  const auto made = std::make_shared<Context>(Context::tls_client);
  made->set_options(Context::no_sslv3 | Context::no_tlsv1 | Context::no_tlsv1_1);
  made->set_verify_mode(boost::asio::ssl::verify_peer);
  net::SystemError error;
  if (files.ca.empty()) {
    made->set_default_verify_paths(error);
  } else {
    made->load_verify_file(files.ca, error);
    if (error) return cannot("ca", files.ca, error);
  }
  if (files.cert.empty()) return made;
  made->use_certificate_chain_file(files.cert, error);
  if (error) return cannot("cert", files.cert, error);
  made->use_private_key_file(files.key, Context::pem, error);
  // OpenSSL compares the two as it reads the second.
  const bool mismatch = error && ERR_GET_REASON(static_cast<unsigned long>(error.value())) ==
                                     X509_R_KEY_VALUES_MISMATCH;
  if (mismatch || (!error && SSL_CTX_check_private_key(made->native_handle()) != 1)) {
    return Error{ErrorCode::kInvalid,
                 "store.key: " + files.key + " is not the key of " + files.cert};
  }
  if (error) return cannot("key", files.key, error);
  return made;
}

Tls::Stamps Tls::stamps() const {
  Stamps stamps{};
  std::size_t i = 0;
  for (const std::string* file : {&files_.ca, &files_.cert, &files_.key}) {
    struct stat status {};
    if (!file->empty() && stat(file->c_str(), &status) == 0) stamps[i] = status.st_mtim;
    ++i;
  }
  return stamps;
}

Result<std::shared_ptr<Tls>> Tls::make(const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    return Error{ErrorCode::kInvalid, files.cert.empty()
                                          ? "store.key is given without store.cert; give both"
                                          : "store.cert is given without store.key; give both"};
  }
  std::shared_ptr<Tls> tls(new Tls(files));
  tls->read_ = tls->stamps();
  auto context = read(files);
  if (!context) return context.error();
  tls->context_ = std::move(*context);
  return tls;
}

std::shared_ptr<Tls::Context> Tls::context() {
  const std::lock_guard lock(mutex_);
  const Stamps now = stamps();
  const auto same = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  if (std::equal(now.begin(), now.end(), read_.begin(), same)) return context_;
  read_ = now;
  auto context = read(files_);
  if (context) {
    context_ = std::move(*context);
    log::info("store: certificates have been read again");
  } else {
    log::error(context.error().message + "; those read before stay in use");
  }
  return context_;
}

}  // namespace weir::store::redis
