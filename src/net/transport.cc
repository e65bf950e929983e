#include "net/transport.h"

#include <errno.h>
#include <sys/socket.h>

#include <utility>

#include "net/tls_session.h"

namespace weir::net {
namespace {

Io result_of(ssize_t moved) {
  if (moved > 0) return {Io::Status::kMoved, static_cast<std::size_t>(moved)};
  const bool later = errno == EAGAIN || errno == EWOULDBLOCK;
  return {later ? Io::Status::kWouldBlock : Io::Status::kFailed, 0};
}

}  // namespace

Transport::Transport(FileDescriptor fd) : fd_(std::move(fd)) {}
Transport::Transport(Transport&& other) noexcept = default;
Transport::~Transport() = default;

Transport& Transport::operator=(Transport&& other) noexcept {
  close();
  fd_ = std::move(other.fd_);
  place_ = std::move(other.place_);
  tls_ = std::move(other.tls_);
  return *this;
}

void Transport::speak(std::unique_ptr<TlsSession> tls) {
  tls_ = std::move(tls);
}

Io Transport::read(char* into, std::size_t room) {
  if (tls_) [[unlikely]]
    return tls_->read(into, room);
  ssize_t size;
  do {
    size = ::recv(fd_.get(), into, room, 0);
  } while (size < 0 && errno == EINTR);
  if (size == 0) return {Io::Status::kEnded, 0};
  return result_of(size);
}

bool Transport::took_all(const Io& got, std::size_t room) const {
  if (got.status != Io::Status::kMoved) return got.status == Io::Status::kWouldBlock;
  return tls_ ? tls_->took_all() : got.bytes < room;
}

Io Transport::write(const char* bytes, std::size_t size) {
  if (tls_) [[unlikely]]
    return tls_->write(bytes, size);
  ssize_t taken;
  do {
    taken = ::send(fd_.get(), bytes, size, MSG_NOSIGNAL);
  } while (taken < 0 && errno == EINTR);
  return result_of(taken);
}

bool Transport::has_unread_event() {
  if (tls_) return tls_->has_unread_event();
  char byte;
  return ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
         (errno != EAGAIN && errno != EWOULDBLOCK);
}

bool Transport::end_output() {
  if (tls_ && tls_->end_output().status == Io::Status::kWouldBlock) return false;
  ::shutdown(fd_.get(), SHUT_WR);
  return true;
}

void Transport::close() {
  tls_.reset();
  const ClientPlace given_back = std::move(place_);
  const FileDescriptor ended = std::move(fd_);
}

void Transport::reset() {
  if (tls_) tls_->abandon();
  const linger at_once{1, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

}  // namespace weir::net
