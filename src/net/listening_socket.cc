#include "net/listening_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include <memory>

#include "net/inherited_sockets.h"

namespace weir::net {
namespace {

constexpr int kBacklog = 4096;  // the kernel takes the smaller of this and net.core.somaxconn

using AddressInfo = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Error io_error(const std::string& what, int number) {
  return Error{ErrorCode::kIo, what + ": " + strerror(number)};
}

std::string remedy(int number, std::uint16_t port) {
  if (number == EADDRINUSE) {
    return "; another program listens there: stop it or choose another port";
  }
  if (number == EACCES && port < 1024) return "; ports below 1024 need CAP_NET_BIND_SERVICE";
  if (number == EADDRNOTAVAIL) return "; this machine does not have that address";
  return "";
}

Result<AddressInfo> lookup(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                 std::to_string(address.port).c_str(), &hints, &found);
  if (failed != 0) {
    return Error{ErrorCode::kInvalid, "listen address " + address.to_string() + ": " +
                                          gai_strerror(failed) +
                                          "; write an IP address of this machine"};
  }
  return AddressInfo(found, &freeaddrinfo);
}

std::uint16_t port_of(const sockaddr* address) {
  return ntohs(address->sa_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(address)->sin_port);
}

std::uint16_t port_of(const FileDescriptor& fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return port_of(reinterpret_cast<const sockaddr*>(&bound));
}

void set_port(sockaddr* address, std::uint16_t port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
  }
}

Result<FileDescriptor> open_bound(const addrinfo& info, bool shared, const std::string& name) {
  FileDescriptor fd(socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return io_error("cannot open a socket for " + name, errno);
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (shared) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (info.ai_family == AF_INET6) {
    // [::] means both families, as operators expect, whatever net.ipv6.bindv6only says.
    const int off = 0;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
  if (bind(fd.get(), info.ai_addr, info.ai_addrlen) != 0) {
    const int number = errno;
    Error error = io_error("cannot listen on " + name, number);
    error.message += remedy(number, port_of(info.ai_addr));
    return error;
  }
  return fd;
}

Result<bool> start_listening(const FileDescriptor& fd, const std::string& name) {
  if (listen(fd.get(), kBacklog) == 0) return true;
  const int number = errno;
  Error error = io_error("cannot listen on " + name, number);
  error.message += remedy(number, port_of(fd));
  return error;
}

}  // namespace

std::string ListenAddress::to_string() const {
  if (is_unix()) return "unix://" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

namespace {

// What several loops share: one socket, known to each by a descriptor of its own.
Result<bool> share(std::vector<FileDescriptor>& sockets, std::size_t count) {
  const std::size_t have = sockets.size();
  for (std::size_t i = have; i < count; ++i) {
    FileDescriptor copy(fcntl(sockets[i % have].get(), F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) return io_error("cannot share a listening socket", errno);
    sockets.push_back(std::move(copy));
  }
  return true;
}

Result<ListeningSockets> listen_on_path(const std::string& path, std::size_t count) {
  ListeningSockets result;
  Result<FileDescriptor> socket = bind_unix_socket(path, SocketMode::kGroup, result.file);
  if (!socket) return socket.error();
  if (Result<bool> on = start_listening(*socket, "unix://" + path); !on) return on.error();
  result.sockets.push_back(std::move(*socket));
  if (Result<bool> shared = share(result.sockets, count); !shared) return shared.error();
  return result;
}

}  // namespace

Result<ListeningSockets> listen_on(const ListenAddress& address, std::size_t count,
                                   InheritedSockets* inherited) {
  if (inherited != nullptr) {
    ListeningSockets result;
    result.sockets = inherited->take(address);
    if (!result.sockets.empty()) {
      result.port = address.is_unix() ? std::uint16_t{0} : port_of(result.sockets.front());
      if (Result<bool> shared = share(result.sockets, count); !shared) return shared.error();
      return result;
    }
  }
  if (address.is_unix()) return listen_on_path(address.path, count);
  const std::string name = address.to_string();
  Result<AddressInfo> found = lookup(address);
  if (!found) return found.error();
  const addrinfo& info = **found;

  // The plain socket listens too before it makes way: a bind alone does not see a program that
  // has bound the port with SO_REUSEADDR and listens only later.
  Result<FileDescriptor> plain = open_bound(info, false, name);
  if (!plain) return plain.error();
  if (Result<bool> listening = start_listening(*plain, name); !listening) return listening.error();
  ListeningSockets result;
  result.port = port_of(*plain);
  if (count <= 1) {
    result.sockets.push_back(std::move(*plain));
    return result;
  }

  { const FileDescriptor closed = std::move(*plain); }
  set_port(info.ai_addr, result.port);
  for (std::size_t i = 0; i < count; ++i) {
    Result<FileDescriptor> shared = open_bound(info, true, name);
    if (!shared) return shared.error();
    if (Result<bool> on = start_listening(*shared, name); !on) return on.error();
    result.sockets.push_back(std::move(*shared));
  }
  return result;
}

}  // namespace weir::net
