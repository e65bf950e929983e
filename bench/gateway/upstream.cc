// The upstream of the benchmark: answers every request with the same few bytes, as cheaply as it
// can, so that what is measured is the proxy in front of it. Keep-alive, bodies are not read,
// requests end with an empty line. One thread, epoll.
//
//   bench_upstream PORT

#include <stdio.h>
#include <stdlib.h>

#include <string_view>

#include "listen.h"

namespace {

constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n";

// Answers each request that ends in what has been read. A head split over two reads would be
// missed; the proxies measured write heads whole. False when the client is gone.
bool serve(int fd) {
  char buffer[65536];
  const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
  if (size <= 0) return false;
  std::string_view rest(buffer, static_cast<std::size_t>(size));
  for (std::size_t end; (end = rest.find("\r\n\r\n")) != std::string_view::npos;) {
    rest.remove_prefix(end + 4);
    if (send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL) < 0) break;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int listening = argc == 2 ? weir::bench::listen_on(atoi(argv[1])) : -1;
  if (listening < 0) {
    fprintf(stderr, "usage: bench_upstream PORT, where PORT is free\n");
    return 2;
  }
  weir::bench::serve_all(listening, serve);
}
