// Handshake: what is said on a new connection before the first call. A state machine without a
// socket: next() is what to send, receive() takes one reply.
//
//   HELLO 3 [AUTH user password]      an old server does not know it: AUTH, and RESP2
//   SELECT database                   where it is not 0
//   CLIENT SETINFO LIB-NAME weir      what a server older than 7.2 answers is of no interest
//   SCRIPT LOAD text                  each that decides, unless it is a Sentinel
//
// WHY the scripts: a call whose script is not known has to be sent again, and is decided after
// those behind it. A server that forgets them later, or does not let us load them, gets the text
// then (client.h).
//
//   step      reply            then
//   hello     map              select, or info
//   hello     error NOPROTO,   auth where there is a password, else select, or info
//             unknown command
//   hello     other error      failed
//   auth      +OK / error      select, or info / failed
//   select    +OK / error      info / failed
//   info      anything         scripts / done
//   scripts   anything         the next one, or done
//
// A server that says "mode cluster" to a client that was not told so fails it here, by name.
//
// THREADS: one loop.

#pragma once

#include <cstddef>
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
  enum class Step : std::uint8_t { kHello, kAuth, kSelect, kInfo, kScripts, kDone };

  Progress receive_hello(const resp::Reply& reply);
  Progress go_on(Step step);
  Progress fail(std::string message);
  Progress refused(const resp::Reply& reply);

  const Options& options_;
  Step step_ = Step::kHello;
  std::size_t loaded_ = 0;  // scripts
  bool resp3_ = false;
  bool replica_ = false;
  std::string error_;
};

}  // namespace weir::store::redis
