// Transport: the bytes of one connected stream socket, taken and given without waiting.
//
// What sessions are built on: they read, write and end here, and need not know what lies below. Who
// waits for a socket to be ready is net::Stream, or net::Connection, which has buffers too.
//
// THREADS: one owner.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "net/file_descriptor.h"

namespace weir::net {

// What became of one read or write.
struct Io {
  enum class Status : std::uint8_t {
    kMoved,       // `bytes` of them, at least one
    kWouldBlock,  // nothing now
    kEnded,       // reads: the peer has said its last byte, in good order
    kFailed,      // the connection is broken
  };

  Status status = Status::kFailed;
  std::size_t bytes = 0;
};

class Transport {
 public:
  Transport() = default;
  // REQUIRES: `fd` is a connected stream socket, and non-blocking.
  explicit Transport(FileDescriptor fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  bool is_open() const { return fd_.get() >= 0; }

  Io read(char* into, std::size_t room);
  Io write(const char* bytes, std::size_t size);

  // Whether a read that did not fill its room has taken all there was.
  bool short_read_is_all() const { return true; }
  // Whether the peer has closed, or sent something, that no read has told of yet. One system call.
  bool has_unread_event() const;

  // Tells the peer that nothing more comes.
  void end_output();
  // What is unsent is lost; the kernel still delivers what it has.
  void close();
  // Closes so that the peer learns that something went wrong.
  void reset();

 private:
  FileDescriptor fd_;
};

}  // namespace weir::net
