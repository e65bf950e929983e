// AdminClient: asks a running weir's admin listener, one request a connection.
//
// THREADS: one. Blocks, at most kTimeout for each step.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls_client.h"
#include "weir/result.h"

namespace weir::tools {

struct AdminAnswer {
  int status = 0;
  std::string body;
};

class AdminClient {
 public:
  static constexpr std::chrono::seconds kTimeout{5};
  static constexpr std::size_t kMaxAnswer = 64u << 20;

  // `url`: http://HOST:PORT, with or without the scheme, or https://. `token` may be empty; `files`
  // are for https.
  // ERRORS: kInvalid: the URL, or a file, by its name.
  static Result<AdminClient> make(std::string_view url, std::string token,
                                  const net::TlsClientFiles& files = {});

  // ERRORS: kUnavailable: nobody listens there, nobody who can be trusted, or no whole answer came.
  // An answer of whatever status is none.
  Result<AdminAnswer> ask(std::string_view method, std::string_view target,
                          std::string_view body = {}) const;

  // The same, and only 200 is an answer. ERRORS: also the words of any other.
  Result<std::string> get(std::string_view target) const;

  std::string address() const;
  bool secure() const { return tls_ != nullptr; }

 private:
  std::string host_;
  std::string port_;
  std::string token_;
  std::shared_ptr<const net::TlsClient> tls_;  // null: plain
};

}  // namespace weir::tools
