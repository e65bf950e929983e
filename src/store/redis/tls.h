// TLS towards Redis: certificates read once, errors that name the file.
//
// THREADS: immutable once made.

#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "weir/result.h"

namespace weir::store::redis {

struct TlsFiles {
  std::string ca;    // certificates that the server's must be signed by; empty: the system's
  std::string cert;  // ours, with its key; empty: none is shown
  std::string key;
  std::string server_name;  // what the server's certificate must name; empty: the host's name
};

class Tls {
 public:
  // ERRORS: kInvalid, naming the file and the reason.
  static Result<std::shared_ptr<Tls>> make(const TlsFiles& files);

  boost::asio::ssl::context& context() { return context_; }
  const std::string& server_name() const { return server_name_; }

 private:
  Tls();

  boost::asio::ssl::context context_;
  std::string server_name_;
};

}  // namespace weir::store::redis
