// Handshake: what is said on a new connection before the first call. A state machine without a
// socket: next() is what to send, receive() takes one reply.
//
//   HELLO 3 [AUTH user password]      an old server does not know it: AUTH, and RESP2
//   SELECT database                   where it is not 0
//   CLIENT SETINFO LIB-NAME weir      what a server older than 7.2 answers is of no interest
//
//   step      reply            then
//   hello     map              select, or info
//   hello     error NOPROTO,   auth where there is a password, else select, or info
//             unknown command
//   hello     other error      failed
//   auth      +OK / error      select, or info / failed
//   select    +OK / error      info / failed
//   info      anything         done
//
// A server that says "mode cluster" to a client that was not told so fails it here, by name.
//
// THREADS: one loop.

#pragma once

#include <cstdint>
#include <string>

#include "store/redis/url.h"
#include "wire/resp/reply.h"

namespace weir::store::redis {

struct Credentials {
  std::string username;
  std::string password;
  bool empty() const { return username.empty() && password.empty(); }
};

class Handshake {
 public:
  struct Options {
    Credentials credentials;
    std::uint32_t database = 0;
    bool cluster = false;   // we know that it is one
    bool sentinel = false;  // it is a Sentinel
  };
  enum class Progress : std::uint8_t { kGoesOn, kDone, kFailed };

  explicit Handshake(const Options& options) : options_(options) {}

  // What to send now.
  std::string next() const;
  Progress receive(const resp::Reply& reply);

  // After kFailed: what was wrong and what to do. Never the password.
  const std::string& error() const { return error_; }
  // After kDone.
  bool resp3() const { return resp3_; }
  bool is_replica() const { return replica_; }

 private:
  enum class Step : std::uint8_t { kHello, kAuth, kSelect, kInfo, kDone };

  Progress receive_hello(const resp::Reply& reply);
  Progress go_on(Step step);
  Progress fail(std::string message);
  Progress refused(const resp::Reply& reply);

  const Options& options_;
  Step step_ = Step::kHello;
  bool resp3_ = false;
  bool replica_ = false;
  std::string error_;
};

}  // namespace weir::store::redis
