#include "serve/gateway/keep_alive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace weir::gateway {

void keep_alive(const net::Connection& connection) {
  const int fd = connection.fd();
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace weir::gateway
