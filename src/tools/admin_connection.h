// AdminConnection: a connection to an admin listener that blocks, plain or by TLS.
//
// THREADS: one. Each step waits for its timeout at most.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "net/tls_client.h"
#include "weir/result.h"

namespace weir::tools {

class AdminConnection {
 public:
  struct Options {
    std::string host;
    std::string port;
    std::shared_ptr<const net::TlsClient> tls;  // null: plain
    std::chrono::seconds timeout{5};
  };

  // ERRORS: kUnavailable: why nobody answers there, or not one who may be believed.
  static Result<AdminConnection> open(const Options& options);

  // ERRORS: kUnavailable: it broke, or nothing moved in time.
  Result<bool> send(std::string_view bytes);
  // Everything until the peer ends. ERRORS: the same, and where it is more than `most` bytes.
  Result<std::string> receive_all(std::size_t most);

 private:
  explicit AdminConnection(FileDescriptor fd) : fd_(std::move(fd)) {}
  Result<bool> speak_tls(const Options& options);
  Error broken() const;

  FileDescriptor fd_;
  std::unique_ptr<net::TlsSession> tls_;  // null: plain. Goes before its socket does.
};

}  // namespace weir::tools
