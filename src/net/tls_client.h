// TlsClient: what is needed to speak TLS to a server and to be sure that it is the right one: its
// certificate must be signed by an authority that is trusted, and name it.
//
// THREADS: immutable once made.

#pragma once

#include <memory>
#include <string>

#include "net/tls_files.h"
#include "net/tls_session.h"
#include "weir/result.h"

namespace weir::net {

struct TlsClientFiles {
  std::string ca;    // whom the server must be signed by; empty: the system's authorities
  std::string cert;  // ours, with its key; empty: none is shown
  std::string key;
  std::string server_name;  // what the server's certificate must name; empty: the host's name

  friend bool operator==(const TlsClientFiles&, const TlsClientFiles&) = default;
};

class TlsClient {
 public:
  // ERRORS: kInvalid, naming the file and the reason.
  static Result<std::shared_ptr<const TlsClient>> make(const TlsClientFiles& files,
                                                       std::string_view protocol);

  // TLS towards `host`, a name or an IP address, on a connected socket; null when memory is short.
  std::unique_ptr<TlsSession> connect(int fd, const std::string& host) const;

 private:
  TlsClient() = default;

  SslContext context_;
  std::string server_name_;
};

}  // namespace weir::net
