// Transport: the bytes of one connected stream socket, taken and given without waiting; through TLS
// where it is spoken.
//
// What sessions are built on: they read, write and end here, and need not know what lies below. Who
// waits for a socket to be ready is net::Stream, or net::Connection, which has buffers too.
//
// THREADS: one owner.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/file_descriptor.h"
#include "net/client_places.h"
#include "net/io.h"

namespace weir::net {

class TlsSession;

class Transport {
 public:
  Transport() = default;
  // REQUIRES: `fd` is a connected stream socket, and non-blocking.
  explicit Transport(FileDescriptor fd);
  Transport(Transport&& other) noexcept;
  Transport& operator=(Transport&& other) noexcept;
  ~Transport();

  // From here on TLS is spoken. REQUIRES: `tls` is of this socket, and no byte has been moved.
  void speak(std::unique_ptr<TlsSession> tls);
  bool speaks_tls() const { return tls_ != nullptr; }
  TlsSession& tls() { return *tls_; }

  // Keeps the client's place until the connection is closed.
  void hold(ClientPlace place) { place_ = std::move(place); }

  int fd() const { return fd_.get(); }
  bool is_open() const { return fd_.get() >= 0; }

  Io read(char* into, std::size_t room);
  // Whether `got`, of a read into `room` bytes, was all that had come: what comes later makes an
  // event of its own.
  bool took_all(const Io& got, std::size_t room) const;
  Io write(const char* bytes, std::size_t size);

  // Whether the peer has closed, or sent something, that no read has told of yet. One system call.
  bool has_unread_event();

  // Tells the peer that nothing more comes. False when the socket does not take that yet.
  bool end_output();
  // What is unsent is lost; the kernel still delivers what it has.
  void close();
  // Closes so that the peer learns that something went wrong.
  void reset();

 private:
  FileDescriptor fd_;
  ClientPlace place_;
  std::unique_ptr<TlsSession> tls_;  // goes before its socket
};

}  // namespace weir::net
