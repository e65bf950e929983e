// SocketBytes: reads and writes of a plain socket that is connected, for the streams of stream.h.
//
// WHY by net::Stream and not by Boost.Asio's: with one call under way a decision is then sent,
// waited for and read, three system calls; Asio's reads try again until nothing is there.
//
// THREADS: one loop. Callbacks never run inside the call that takes them.

#pragma once

#include <memory>

#include "net/loop.h"
#include "net/stream.h"
#include "store/redis/stream.h"

namespace weir::store::redis {

class SocketBytes final : public net::Stream::Owner,
                          public std::enable_shared_from_this<SocketBytes> {
 public:
  // REQUIRES: a connected stream socket, and non-blocking.
  SocketBytes(net::Loop& loop, FileDescriptor socket);
  ~SocketBytes();
  SocketBytes(const SocketBytes&) = delete;
  SocketBytes& operator=(const SocketBytes&) = delete;

  // See Stream; at most one of each is under way.
  void read(net::asio::mutable_buffer into, Stream::OnBytes done);
  void write(net::asio::const_buffer all, Stream::OnBytes done);
  std::size_t write_now(net::asio::const_buffer bytes);
  // What is under way ends soon, with an error.
  void close();

 private:
  void on_readable() override;
  void on_writable() override;
  void end_soon(Stream::OnBytes done, const net::SystemError& error, std::size_t bytes);

  net::Loop& loop_;
  net::StreamPtr stream_;
  net::asio::mutable_buffer into_;
  Stream::OnBytes on_read_;
  net::asio::const_buffer left_;
  std::size_t written_ = 0;
  Stream::OnBytes on_written_;
};

}  // namespace weir::store::redis
