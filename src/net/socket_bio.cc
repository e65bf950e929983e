#include "net/socket_bio.h"

#include <errno.h>
#include <sys/socket.h>

namespace weir::net {
namespace {

TlsSocket& socket_of(BIO* bio) {
  return *static_cast<TlsSocket*>(BIO_get_data(bio));
}

bool may_be_tried_later() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

int read_socket(BIO* bio, char* into, int room) {
  TlsSocket& socket = socket_of(bio);
  ssize_t size;
  do {
    size = ::recv(socket.fd, into, static_cast<std::size_t>(room), 0);
  } while (size < 0 && errno == EINTR);
  BIO_clear_retry_flags(bio);
  socket.drained = size < room;
  socket.ended = size == 0;
  if (size < 0 && may_be_tried_later()) BIO_set_retry_read(bio);
  return static_cast<int>(size);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  ssize_t taken;
  do {
    taken = ::send(socket_of(bio).fd, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  } while (taken < 0 && errno == EINTR);
  BIO_clear_retry_flags(bio);
  if (taken < 0 && may_be_tried_later()) BIO_set_retry_write(bio);
  return static_cast<int>(taken);
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return socket_of(bio).ended ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // nothing is held back here
}

// One for the process; it is never freed.
BIO_METHOD* make_method() {
  BIO_METHOD* const method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "a socket of weir's");
  if (method == nullptr) return nullptr;
  BIO_meth_set_read(method, read_socket);
  BIO_meth_set_write(method, write_socket);
  BIO_meth_set_ctrl(method, control);
  return method;
}

}  // namespace

BIO* make_socket_bio(TlsSocket& socket) {
  static BIO_METHOD* const method = make_method();
  BIO* const bio = method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, &socket);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace weir::net
