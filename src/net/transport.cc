#include "net/transport.h"

#include <errno.h>
#include <sys/socket.h>

namespace weir::net {
namespace {

Io result_of(ssize_t moved) {
  if (moved > 0) return {Io::Status::kMoved, static_cast<std::size_t>(moved)};
  const bool later = errno == EAGAIN || errno == EWOULDBLOCK;
  return {later ? Io::Status::kWouldBlock : Io::Status::kFailed, 0};
}

}  // namespace

Io Transport::read(char* into, std::size_t room) {
  ssize_t size;
  do {
    size = ::recv(fd_.get(), into, room, 0);
  } while (size < 0 && errno == EINTR);
  if (size == 0) return {Io::Status::kEnded, 0};
  return result_of(size);
}

Io Transport::write(const char* bytes, std::size_t size) {
  ssize_t taken;
  do {
    taken = ::send(fd_.get(), bytes, size, MSG_NOSIGNAL);
  } while (taken < 0 && errno == EINTR);
  return result_of(taken);
}

bool Transport::has_unread_event() const {
  char byte;
  return ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
         (errno != EAGAIN && errno != EWOULDBLOCK);
}

void Transport::end_output() {
  ::shutdown(fd_.get(), SHUT_WR);
}

void Transport::close() {
  const FileDescriptor ended = std::move(fd_);
}

void Transport::reset() {
  const linger at_once{1, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

}  // namespace weir::net
