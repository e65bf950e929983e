#include "net/tls_session.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include <algorithm>
#include <climits>

#include "net/tls_files.h"

namespace weir::net {
namespace {

int bounded(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

}  // namespace

std::unique_ptr<TlsSession> TlsSession::over(SSL* ssl, int fd, std::shared_ptr<const void> keep) {
  std::unique_ptr<TlsSession> session(new TlsSession(ssl, fd, std::move(keep)));
  BIO* const bio = make_socket_bio(session->socket_);
  if (bio == nullptr) return nullptr;
  SSL_set_bio(ssl, bio, bio);
  return session;
}

TlsSession::~TlsSession() {
  if (open_ && !ended_ && !failed_) end_output();
  SSL_free(ssl_);
}

// The queue of errors is the thread's: what others have left in it is not of this call. WHY asked
// first: clearing it walks through all of its places, full or not.
void TlsSession::begin() {
  if (ERR_peek_error() != 0) ERR_clear_error();
  errno = 0;
}

Io TlsSession::result_of(int returned) {
  if (returned > 0) return {Io::Status::kMoved, static_cast<std::size_t>(returned)};
  const int kind = SSL_get_error(ssl_, returned);
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
    return {Io::Status::kWouldBlock, 0};
  }
  if (kind == SSL_ERROR_ZERO_RETURN) return {Io::Status::kEnded, 0};
  fail(kind);
  return {Io::Status::kFailed, 0};
}

void TlsSession::fail(int kind) {
  failed_ = true;
  const long verified = SSL_get_verify_result(ssl_);
  if (kind == SSL_ERROR_SYSCALL) {
    error_ = errno != 0 ? strerror(errno) : "the peer closed the connection";
  } else if (!open_ && verified != X509_V_OK) {
    error_ =
        std::string("its certificate is not accepted: ") + X509_verify_cert_error_string(verified);
  } else {
    error_ = openssl_error();
  }
}

Io TlsSession::handshake() {
  begin();
  const Io done = result_of(SSL_do_handshake(ssl_));
  open_ = done.status == Io::Status::kMoved;
  return done;
}

Io TlsSession::read(char* into, std::size_t room) {
  begin();
  return result_of(SSL_read(ssl_, into, bounded(room)));
}

Io TlsSession::write(const char* bytes, std::size_t size) {
  // A call of OpenSSL's writes one record. Less than all must mean that the socket is full: who
  // waits for room is not told of room that there was all along.
  std::size_t written = 0;
  Io put;
  do {
    begin();
    put = result_of(SSL_write(ssl_, bytes + written, bounded(size - written)));
    written += put.bytes;
  } while (put.status == Io::Status::kMoved && written < size);
  if (put.status == Io::Status::kWouldBlock && written > 0) put.status = Io::Status::kMoved;
  return {put.status, written};
}

Io TlsSession::end_output() {
  if (ended_ || failed_) return {Io::Status::kMoved, 0};
  // 0: ours is said, and the peer's has not come; that is not waited for.
  begin();
  const int said = SSL_shutdown(ssl_);
  const bool later = said < 0 && SSL_get_error(ssl_, said) == SSL_ERROR_WANT_WRITE;
  ended_ = !later;
  return {later ? Io::Status::kWouldBlock : Io::Status::kMoved, 0};
}

bool TlsSession::has_unread_event() {
  char byte;
  begin();
  const int peeked = SSL_peek(ssl_, &byte, 1);
  return result_of(peeked).status != Io::Status::kWouldBlock;
}

}  // namespace weir::net
