// TLS towards Redis: certificates from files, errors that name the file. Files that have changed
// are read again at the next connection, so that certificates are renewed without a restart.
//
// THREADS: any.

#pragma once

#include <sys/stat.h>

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
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

  using Context = boost::asio::ssl::context;

  // For a new connection: of the files as they are now, or, where these cannot be used, as they
  // last could be; that is logged once for each change.
  std::shared_ptr<Context> context();
  const std::string& server_name() const { return files_.server_name; }

 private:
  // What tells one state of the files from another.
  using Stamps = std::array<struct timespec, 3>;

  explicit Tls(TlsFiles files) : files_(std::move(files)) {}
  static Result<std::shared_ptr<Context>> read(const TlsFiles& files);
  Stamps stamps() const;

  const TlsFiles files_;
  std::mutex mutex_;
  std::shared_ptr<Context> context_;  // by mutex_
  Stamps read_{};                     // by mutex_
};

}  // namespace weir::store::redis
