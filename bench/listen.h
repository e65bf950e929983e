// What the upstreams of benchmarks share: one thread, epoll, loopback. Level-triggered; whoever
// reads takes what is there and comes back for the rest.

#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace weir::bench {

// A listening socket on 127.0.0.1; -1 where the port is taken. What it accepts sends without delay.
inline int listen_on(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return -1;
  return listen(fd, 4096) == 0 ? fd : -1;
}

// Serves until it is killed: `readable(fd)` when a client has sent something, or has gone; false
// ends its connection.
template <typename Readable>
[[noreturn]] void serve_all(int listening, Readable readable) {
  const int epoll = epoll_create1(0);
  const auto watch = [epoll](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  };
  watch(listening);
  epoll_event events[256];
  while (true) {
    const int count = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd != listening) {
        if (!readable(fd)) close(fd);
        continue;
      }
      for (int client; (client = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
        watch(client);
      }
    }
  }
}

}  // namespace weir::bench
