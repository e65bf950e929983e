// The upstream of the benchmark: answers every request with the same few bytes, as cheaply as it
// can, so that what is measured is the proxy in front of it. Keep-alive, bodies are not read,
// requests end with an empty line. One thread, epoll.
//
//   bench_upstream PORT

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace {

constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n";

int listen_on(int port) {
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

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

// Answers each request that ends in what has been read. A head split over two reads would be
// missed; the proxies measured write heads whole.
void serve(int fd) {
  char buffer[65536];
  const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
  if (size <= 0) {
    close(fd);
    return;
  }
  std::string_view rest(buffer, static_cast<std::size_t>(size));
  for (std::size_t end; (end = rest.find("\r\n\r\n")) != std::string_view::npos;) {
    rest.remove_prefix(end + 4);
    if (send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int listening = argc == 2 ? listen_on(atoi(argv[1])) : -1;
  if (listening < 0) {
    fprintf(stderr, "usage: bench_upstream PORT, where PORT is free\n");
    return 2;
  }
  const int epoll = epoll_create1(0);
  watch(epoll, listening);
  epoll_event events[256];
  while (true) {
    const int count = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd != listening) {
        serve(fd);
        continue;
      }
      for (int client; (client = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
        watch(epoll, client);
      }
    }
  }
}
