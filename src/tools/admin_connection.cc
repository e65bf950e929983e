#include "tools/admin_connection.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>

namespace weir::tools {
namespace {

using net::Io;

Error unavailable(std::string_view why) {
  return Error{ErrorCode::kUnavailable, std::string(why)};
}

Result<FileDescriptor> connect_to(const AdminConnection::Options& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(options.host.c_str(), options.port.c_str(), &hints, &found);
  if (failed != 0) return unavailable(gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  const timeval timeout{options.timeout.count(), 0};
  int why = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    FileDescriptor fd(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    why = errno;
  }
  return unavailable(strerror(why));
}

Io result_of(ssize_t moved) {
  if (moved > 0) return {Io::Status::kMoved, static_cast<std::size_t>(moved)};
  if (moved == 0) return {Io::Status::kEnded, 0};
  const bool late = errno == EAGAIN || errno == EWOULDBLOCK;
  return {late ? Io::Status::kWouldBlock : Io::Status::kFailed, 0};
}

}  // namespace

Result<AdminConnection> AdminConnection::open(const Options& options) {
  auto fd = connect_to(options);
  if (!fd) return fd.error();
  AdminConnection connection(*std::move(fd));
  if (options.tls != nullptr) {
    if (auto spoken = connection.speak_tls(options); !spoken) return spoken.error();
  }
  return connection;
}

// The socket blocks: what "would block" has had its timeout.
Result<bool> AdminConnection::speak_tls(const Options& options) {
  tls_ = options.tls->connect(fd_.get(), options.host);
  if (tls_ == nullptr) return unavailable("TLS: there is no memory for it");
  const Io::Status done = tls_->handshake().status;
  if (done == Io::Status::kMoved) return true;
  return unavailable("TLS: " + (done == Io::Status::kFailed ? tls_->error() : "no answer in time"));
}

Error AdminConnection::broken() const {
  return unavailable(tls_ != nullptr && !tls_->error().empty() ? "TLS: " + tls_->error()
                                                               : "it did not answer in time");
}

Result<bool> AdminConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const Io put = tls_ != nullptr
                       ? tls_->write(bytes.data(), bytes.size())
                       : result_of(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    if (put.status != Io::Status::kMoved) return broken();
    bytes.remove_prefix(put.bytes);
  }
  return true;
}

Result<std::string> AdminConnection::receive_all(std::size_t most) {
  std::string all;
  char buffer[16384];
  while (all.size() <= most) {
    const Io got = tls_ != nullptr ? tls_->read(buffer, sizeof buffer)
                                   : result_of(::recv(fd_.get(), buffer, sizeof buffer, 0));
    if (got.status == Io::Status::kEnded) return all;
    if (got.status != Io::Status::kMoved) return broken();
    all.append(buffer, got.bytes);
  }
  return unavailable("its answer is more than " + std::to_string(most >> 20) + " MiB");
}

}  // namespace weir::tools
