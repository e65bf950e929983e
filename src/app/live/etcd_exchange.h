// EtcdExchange: one HTTP request on a connection of its own, and the JSON values of its answer:
// one, or a stream of them, a line each, as a watch gives.
//
// THREADS: one loop. Held by shared_ptr, since callbacks of the socket outlive close().

#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <string>

#include "net/loop.h"
#include "store/redis/stream.h"
#include "wire/http1/chunked.h"
#include "wire/http1/response.h"

namespace weir::app {

class EtcdExchange : public std::enable_shared_from_this<EtcdExchange> {
 public:
  struct Events {
    std::function<void(const boost::json::object& value)> on_value;
    // Once, at the end: what went wrong, or "", and the status of the answer, 0 where there is
    // none.
    std::function<void(const std::string& error, int status)> on_end;
  };

  EtcdExchange(net::Loop& loop, std::shared_ptr<store::redis::Stream> stream, std::string request,
               Events events);

  // `within` 0: for ever.
  void start(Duration within);
  void close();  // no event comes after it

 private:
  void write();
  void read();
  void receive(std::string_view bytes);
  bool take_head();
  bool take_body(std::string_view bytes);
  bool take_line();
  void end(const std::string& error);

  std::shared_ptr<store::redis::Stream> stream_;
  std::string request_;
  Events events_;
  net::SteadyTimer timer_;
  std::array<char, 16 * 1024> buffer_;
  std::string head_;  // and what came with it
  http1::ResponseParser parser_;
  http1::ChunkedDecoder chunks_;
  bool in_body_ = false;
  std::string body_;  // decoded, not yet read
  std::uint64_t left_ = 0;
  bool ended_ = false;
};

}  // namespace weir::app
