// A client that sends exactly the bytes it is told and shows exactly what comes back: for tests of
// listeners, where no well-behaved client would do.
//
// Reads wait at most five seconds, so that a listener that never answers fails its test.

#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weir::testing {

class RawClient {
 public:
  explicit RawClient(std::uint16_t port)
      : RawClient(Accepted{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  // The other end: a connection that a listener of the test has accepted.
  struct Accepted {
    int fd;
  };
  explicit RawClient(Accepted accepted) : fd_(accepted.fd) {
    const timeval patience{5, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = fd_ >= 0;
  }
  ~RawClient() { close(); }
  RawClient(RawClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        connected_(other.connected_),
        buffer_(std::move(other.buffer_)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  void finish_sending() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // Closes so that the peer sees an error and not an end.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  // Everything until the peer closes (or five silent seconds pass).
  std::string read_all() {
    while (read_more()) {
    }
    return take();
  }

  // Up to and with `end`; less when the peer closes first.
  std::string read_until(std::string_view end) {
    std::size_t at;
    while ((at = buffer_.find(end)) == std::string::npos) {
      if (!read_more()) return take();
    }
    std::string found = buffer_.substr(0, at + end.size());
    buffer_.erase(0, at + end.size());
    return found;
  }

  // Exactly `size` bytes; less when the peer closes first.
  std::string read_exactly(std::size_t size) {
    while (buffer_.size() < size) {
      if (!read_more()) return take();
    }
    std::string found = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return found;
  }

  // What has arrived, at least one byte; nothing when the peer closes first.
  std::string read_some() {
    if (buffer_.empty()) read_more();
    return take();
  }

  // One response whose length its head tells: head and body.
  std::string read_response() {
    std::string head = read_until("\r\n\r\n");
    const auto at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read_exactly(std::stoul(head.substr(at + 16)));
  }

  // Whether the peer has closed and nothing is left to read.
  bool at_end() { return buffer_.empty() && !read_more(); }

 private:
  bool read_more() {
    char bytes[16384];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(n));
    return true;
  }

  std::string take() {
    std::string all = std::move(buffer_);
    buffer_.clear();
    return all;
  }

  int fd_;
  bool connected_ = false;
  std::string buffer_;
};

}  // namespace weir::testing
