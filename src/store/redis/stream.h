// Stream: one connection to a server as bytes, over TCP, TLS or a Unix socket.
//
// THREADS: one loop. Callbacks never run inside the call that takes them. Whoever starts something
// keeps the stream alive until its callback has run; close() makes it run soon, with an error.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "net/loop.h"
#include "store/redis/tls.h"
#include "store/redis/url.h"

namespace weir::store::redis {

class Stream {
 public:
  using OnBytes = std::function<void(const net::SystemError& error, std::size_t bytes)>;
  // What went wrong, naming the hop ("cannot connect: Connection refused"); empty: connected.
  using OnConnected = std::function<void(const std::string& error)>;

  virtual ~Stream() = default;
  virtual void connect(OnConnected done) = 0;
  virtual void read(net::asio::mutable_buffer into, OnBytes done) = 0;
  virtual void write(net::asio::const_buffer all, OnBytes done) = 0;  // all of it
  // Takes what fits at once, without waiting, and says how much; 0 where that is not possible, and
  // for every error, which write() then tells. REQUIRES: connected, no write() under way.
  virtual std::size_t write_now(net::asio::const_buffer) { return 0; }
  virtual void close() = 0;
};

// `tls` null: none.
std::shared_ptr<Stream> make_stream(net::Loop& loop, const Address& address,
                                    std::shared_ptr<Tls> tls);

}  // namespace weir::store::redis
