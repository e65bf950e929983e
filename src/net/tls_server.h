// TlsServer: what a listener needs to speak TLS: certificates, one of which a client chooses by the
// host that it names (SNI), and whom clients must be signed by.
//
// What prepare() gives takes effect for the next connection; those that are open keep what they
// began with. Sessions are resumed by tickets, whose keys live as long as the certificates.
//
// THREADS: any.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/tls_session.h"
#include "weir/result.h"

namespace weir::net {

struct TlsServerFiles {
  struct Certificate {
    std::string cert;  // the chain, PEM
    std::string key;

    friend bool operator==(const Certificate&, const Certificate&) = default;
  };
  std::vector<Certificate> certificates;  // the first serves who names no host, or an unknown one
  std::string client_ca;                  // empty: clients need no certificate

  // All of them, for who watches for changes.
  std::vector<std::string> names() const;

  friend bool operator==(const TlsServerFiles&, const TlsServerFiles&) = default;
};

class TlsServer {
 public:
  // `protocol`: what ALPN agrees on ("h2"); empty: a client's wishes are not looked at.
  // ERRORS: kInvalid, naming the file and the reason. REQUIRES: at least one certificate.
  static Result<std::unique_ptr<TlsServer>> make(const TlsServerFiles& files, std::string protocol);

  // Reads the files again; what it gives puts them in force.
  Result<std::function<void()>> prepare(const TlsServerFiles& files);

  // TLS for one accepted connection, or null when memory is short.
  std::unique_ptr<TlsSession> accept(int fd) const;

 private:
  struct Contexts;

  explicit TlsServer(std::string protocol) : protocol_(std::move(protocol)) {}
  Result<std::shared_ptr<Contexts>> read(const TlsServerFiles& files) const;
  std::shared_ptr<const Contexts> current() const;

  const std::string protocol_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Contexts> contexts_;  // by mutex_
};

}  // namespace weir::net
