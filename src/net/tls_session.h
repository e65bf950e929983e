// TlsSession: TLS over one non-blocking socket, for net::Transport.
//
// A client that closes its connection without saying so in TLS has ended in good order as far as we
// are concerned, as most do; a server that does has cut its answer short, and that is a failure.
//
// THREADS: one owner.

#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "net/io.h"
#include "net/socket_bio.h"

namespace weir::net {

class TlsSession {
 public:
  // Takes over `ssl`, which knows its side; null when there is no memory. `keep` lives as long as
  // it does.
  static std::unique_ptr<TlsSession> over(SSL* ssl, int fd, std::shared_ptr<const void> keep);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // kMoved once it is done. REQUIRES for the others: it is.
  Io handshake();
  Io read(char* into, std::size_t room);
  // To be called for each event of the socket: more may have come than reads have taken so far.
  void note_event() { socket_.drained = false; }
  // Whether reads have taken all that had come.
  bool took_all() const { return socket_.drained && SSL_has_pending(ssl_) == 0; }
  // Writes until all is written or the socket is full.
  Io write(const char* bytes, std::size_t size);
  // Says that nothing more comes. kWouldBlock when the socket does not take that yet.
  Io end_output();
  bool has_unread_event();
  // Nothing more is said, not even that it ends.
  void abandon() { failed_ = true; }

  // REQUIRES: something has failed. Why.
  const std::string& error() const { return error_; }

 private:
  TlsSession(SSL* ssl, int fd, std::shared_ptr<const void> keep)
      : socket_{fd}, ssl_(ssl), keep_(std::move(keep)) {}

  void begin();
  Io result_of(int returned);
  void fail(int kind);

  TlsSocket socket_;
  SSL* const ssl_;
  const std::shared_ptr<const void> keep_;  // WHY shared: contexts change while sessions last
  std::string error_;
  bool open_ = false;    // the handshake is done
  bool ended_ = false;   // we have said our last
  bool failed_ = false;  // nothing may be said any more
};

}  // namespace weir::net
