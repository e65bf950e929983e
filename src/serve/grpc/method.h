// Method: one gRPC method that the server offers, and Reply, the way back to its caller.
//
// A handler is given each whole message of a call and a Reply that it may keep: the answer may come
// at once or later, as long as it comes on the same loop. When the caller has gone meanwhile, the
// answer goes nowhere.
//
// THREADS: one loop.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/grpc/message.h"

namespace weir::grpc {

class Session;

// Where a call's session can be found as long as it lives.
struct SessionHandle {
  Session* session = nullptr;
};

class Reply {
 public:
  // WHY shared: an answer may come after its connection, and must find that out.
  Reply(std::shared_ptr<SessionHandle> handle, std::int32_t stream)
      : handle_(std::move(handle)), stream_(stream) {}

  // Sends a message; the call goes on.
  void send(std::string_view message) const;
  // Sends a message and ends the call well.
  void finish(std::string_view message) const;
  // Ends the call without a message.
  void end(Status status, std::string_view text) const;

 private:
  std::shared_ptr<SessionHandle> handle_;
  std::int32_t stream_;
};

enum class Kind : std::uint8_t {
  kUnary,   // one message, given once the caller has ended its side; one answer
  kWatch,   // the same, and any number of answers, until the caller has enough or we drain
  kStream,  // each message as it comes; ends well when the caller ends its side
};

struct Method {
  std::string path;  // "/package.Service/Method"
  Kind kind = Kind::kUnary;
  // The message lives until the handler returns.
  std::function<void(std::string_view message, Reply reply)> handle;
  bool open = false;  // to who shows no token, too
};

using Methods = std::vector<Method>;

}  // namespace weir::grpc
