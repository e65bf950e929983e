// Stream: a transport that tells its owner when it can go on. It holds no buffer, so that an idle
// connection costs little; net::Connection is the one with buffers.
//
// Registered once, edge-triggered: it remembers what the kernel has said, and readable() spares the
// read that would find nothing.
//
// THREADS: the loop's. An open stream is kept alive by its loop; close() ends that, and after it
// the owner hears nothing more.

#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <cstdint>

#include "net/loop.h"
#include "net/poller.h"
#include "net/transport.h"

namespace weir::net {

// For one read at a time: shared by all sessions of a thread.
inline constexpr std::size_t kScratchBytes = 64 * 1024;
char* scratch();

class Stream final : public Poller::Watched {
 public:
  class Owner {
   public:
    // What it waited for has come; it no longer waits. A broken connection is readable and
    // writable: the next read or write tells.
    virtual void on_readable() = 0;
    virtual void on_writable() = 0;

   protected:
    ~Owner() = default;
  };

  Stream(Loop& loop, Transport transport);

  // Null: nobody is told.
  void set_owner(Owner* owner) { owner_ = owner; }

  // Whether a read may find something: not after one that took all there was.
  bool readable() const { return readable_; }
  Io read(char* into, std::size_t room);
  // Takes what has come and drops it, for a session that has said its last word. False once there
  // is nothing to wait for: the peer has ended, or has sent more (1 MiB) than it may.
  bool discard();
  Io write(const char* bytes, std::size_t size) { return transport_.write(bytes, size); }

  // Tells the owner once, and not before this returns. May be called again meanwhile.
  void wait_to_read();
  void wait_to_write() { writing_ = true; }

  void end_output() { transport_.end_output(); }
  void close();
  bool closed() const { return closed_; }

 private:
  void on_ready(std::uint32_t events) override;

  Poller& poller_;
  Transport transport_;
  Owner* owner_ = nullptr;
  std::size_t discarded_ = 0;
  bool readable_ = false;    // the kernel may have input
  bool peer_ended_ = false;  // and after it the end: no edge will tell of that again
  bool reading_ = false;     // waits to read
  bool writing_ = false;     // waits to write
  bool closed_ = false;
};

using StreamPtr = boost::intrusive_ptr<Stream>;

}  // namespace weir::net
