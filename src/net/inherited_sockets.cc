#include "net/inherited_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/ip.h"

namespace weir::net {
namespace {

constexpr int kFirstDescriptor = 3;  // SD_LISTEN_FDS_START
constexpr int kMaxDescriptors = 1024;

int number_in(const char* variable) {
  const char* const text = getenv(variable);
  if (text == nullptr) return -1;
  const std::string_view digits(text);
  int value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool is_listening_stream(int fd) {
  int listening = 0;
  int type = 0;
  socklen_t size = sizeof listening;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening != 0 &&
         getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

std::optional<ListenAddress> address_of(int fd) {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un path;
    sockaddr_storage room;
  } bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, &bound.any, &size) != 0) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> text{};
  switch (bound.any.sa_family) {
    case AF_INET:
      inet_ntop(AF_INET, &bound.v4.sin_addr, text.data(), text.size());
      return ListenAddress{text.data(), ntohs(bound.v4.sin_port)};
    case AF_INET6:
      inet_ntop(AF_INET6, &bound.v6.sin6_addr, text.data(), text.size());
      return ListenAddress{text.data(), ntohs(bound.v6.sin6_port)};
    case AF_UNIX: {
      ListenAddress address;
      address.path = bound.path.sun_path;
      return address;
    }
    default:
      return std::nullopt;
  }
}

bool same(const ListenAddress& a, const ListenAddress& b) {
  if (a.is_unix() || b.is_unix()) return a.path == b.path;
  if (a.port != b.port) return false;
  if (a.host == b.host) return true;
  const auto one = IpAddress::parse(a.host);
  return one && one == IpAddress::parse(b.host);
}

void make_ready(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
}

}  // namespace

InheritedSockets InheritedSockets::from_environment() {
  InheritedSockets found;
  const int count = number_in("LISTEN_PID") == getpid() ? number_in("LISTEN_FDS") : 0;
  for (int i = 0; i < std::min(count, kMaxDescriptors); ++i) {
    found.add(FileDescriptor(kFirstDescriptor + i));
  }
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_FDNAMES");
  return found;
}

void InheritedSockets::add(FileDescriptor fd) {
  if (!is_listening_stream(fd.get())) return;
  auto address = address_of(fd.get());
  if (!address) return;
  make_ready(fd.get());
  sockets_.push_back({std::move(fd), *std::move(address)});
}

std::vector<FileDescriptor> InheritedSockets::take(const ListenAddress& address) {
  std::vector<FileDescriptor> taken;
  for (Socket& one : sockets_) {
    if (same(one.address, address)) taken.push_back(std::move(one.fd));
  }
  std::erase_if(sockets_, [](const Socket& one) { return one.fd.get() < 0; });
  return taken;
}

std::vector<std::string> InheritedSockets::left() const {
  std::vector<std::string> names;
  for (const Socket& one : sockets_) names.push_back(one.address.to_string());
  return names;
}

}  // namespace weir::net
