// Stream: one call of a connection, from its headers to its trailers.
//
// Fed header fields and data, it says when a message is whole, and what is wrong with the call. It
// knows neither the connection nor nghttp2, so that each step is tested without a socket.
//
// THREADS: its session's loop.

#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serve/grpc/method.h"
#include "weir/time.h"
#include "wire/grpc/message.h"

namespace weir::grpc {

struct StreamLimits {
  std::uint32_t max_message = 0;
  std::uint32_t max_header_bytes = 0;
};

class Stream : public boost::intrusive::list_base_hook<> {
 public:
  // What is wrong with a call. An HTTP status other than 200 is for what is no gRPC at all.
  struct Fault {
    int http_status = 200;
    Status status = Status::kOk;
    std::string text;
  };

  // Makes the stream as new, keeping memory of a usual size.
  void clear();

  void add_header(std::string_view name, std::string_view value, const Methods& methods,
                  const StreamLimits& limits);
  // The headers are over. Nothing when the call may go on. `token` must be shown, where it is not
  // empty and the method is not open.
  std::optional<Fault> check_headers(std::string_view token);

  // Data of the call; a fault ends it.
  std::optional<Fault> add_data(std::string_view data, const StreamLimits& limits);
  // The next whole message, or nothing; pop_message() takes it off.
  std::optional<std::string_view> message() const;
  void pop_message();
  // The caller has sent all.
  std::optional<Fault> finish_request();

  // Whether bytes of a request are missing that must come soon.
  bool is_receiving() const { return !request_done && !(is_stream() && in.empty()); }
  bool is_stream() const { return method != nullptr && method->kind == Kind::kStream; }
  // Whether the call's own deadline has passed.
  bool is_late(std::int64_t now_ns) const {
    return timeout && now_ns - began_ns >= timeout->count();
  }

  std::int32_t id = 0;
  std::int64_t began_ns = 0;
  std::int64_t message_began_ns = 0;  // the one that is being received
  const Method* method = nullptr;
  std::optional<Duration> timeout;
  std::string in;  // bytes of messages, from the head of the first on

  std::string out;       // messages to send, with their heads
  std::size_t sent = 0;  // of out
  bool request_done = false;
  bool handled = false;    // the method has been asked (once, when not streaming)
  bool answering = false;  // response headers are on their way
  bool ended = false;      // no more messages will follow
  Fault outcome;           // when ended

 private:
  bool is_post_ = false;
  bool is_grpc_ = false;
  bool timeout_bad_ = false;
  bool encoded_ = false;              // grpc-encoding names one
  std::uint32_t authorizations_ = 0;  // headers of that name
  std::string authorization_;         // the last of them, until it is checked
  std::size_t header_bytes_ = 0;
  std::uint32_t max_header_bytes_ = 0;
};

}  // namespace weir::grpc
