// The upstream of the benchmark: answers every request with the same few bytes, as cheaply as it
// can, so that what is measured is the proxy in front of it. Keep-alive; bodies are read past.
// One thread, epoll. `chunked`: answers come in chunks.
//
//   bench_upstream PORT [chunked]

#include <stdio.h>
#include <stdlib.h>

#include <string_view>

#include "listen.h"

namespace {

constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n";

constexpr std::string_view kChunkedAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    "6\r\nhello\n\r\n0\r\n\r\n";

// Where the first request ends, or npos: by its length, by its last chunk, or with its head.
std::size_t end_of_request(std::string_view bytes) {
  const std::size_t head = bytes.find("\r\n\r\n");
  if (head == std::string_view::npos) return head;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const std::size_t length = bytes.substr(0, head).find(kLength);
  if (length != std::string_view::npos) {
    const std::size_t end = head + 4 + std::strtoul(&bytes[length + kLength.size()], nullptr, 10);
    return end <= bytes.size() ? end : std::string_view::npos;
  }
  if (bytes.substr(0, head).find("\r\nTransfer-Encoding: ") == std::string_view::npos) {
    return head + 4;
  }
  constexpr std::string_view kLast = "\r\n0\r\n\r\n";
  const std::size_t last = bytes.find(kLast, head + 4);
  return last == std::string_view::npos ? last : last + kLast.size();
}

// Answers each request that has been read whole. One that is split over two reads would be missed;
// the proxies measured write theirs in one piece. False when the client is gone.
bool serve(int fd, std::string_view answer) {
  char buffer[65536];
  const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
  if (size <= 0) return false;
  std::string_view rest(buffer, static_cast<std::size_t>(size));
  for (std::size_t end; (end = end_of_request(rest)) != std::string_view::npos;) {
    rest.remove_prefix(end);
    if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bool chunked = argc == 3 && std::string_view(argv[2]) == "chunked";
  const int listening = argc == 2 || chunked ? weir::bench::listen_on(atoi(argv[1])) : -1;
  if (listening < 0) {
    fprintf(stderr, "usage: bench_upstream PORT [chunked], where PORT is free\n");
    return 2;
  }
  const std::string_view answer = chunked ? kChunkedAnswer : kAnswer;
  weir::bench::serve_all(listening, [answer](int fd) { return serve(fd, answer); });
}
