#include "store/redis/tls.h"

#include <algorithm>

#include "base/log.h"
#include "net/asio.h"
#include "net/tls_files.h"

namespace weir::store::redis {
namespace {

Error of_setting(const std::string& name, const Error& error) {
  return Error{error.code, "store." + name + ": " + error.message};
}

}  // namespace

Result<std::shared_ptr<Tls::Context>> Tls::read(const TlsFiles& files) {
  const auto made = std::make_shared<Context>(Context::tls_client);
  made->set_options(Context::no_sslv3 | Context::no_tlsv1 | Context::no_tlsv1_1);
  made->set_verify_mode(boost::asio::ssl::verify_peer);
  SSL_CTX* const context = made->native_handle();
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (auto trusted = net::trust_authorities(context, files.ca); !trusted) {
    return of_setting("ca", trusted.error());
  }
  if (files.cert.empty()) return made;
  if (auto used = net::use_chain(context, files.cert); !used) {
    return of_setting("cert", used.error());
  }
  if (auto used = net::use_key(context, files.key, files.cert); !used) {
    return of_setting("key", used.error());
  }
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
