// InheritedSockets: listening sockets that somebody else has opened for us: systemd (socket
// activation, sd_listen_fds(3)), or an older weir that hands them over (hand_over.h).
//
// A listener finds its socket by the address that it is bound to. What nobody takes is closed.
//
// THREADS: one.

#pragma once

#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "net/listening_socket.h"

namespace weir::net {

class InheritedSockets {
 public:
  // Those that systemd has passed to this process; the environment no longer names them then.
  static InheritedSockets from_environment();

  // A descriptor that is no listening stream socket is closed.
  void add(FileDescriptor fd);
  // Every socket that listens on the address, non-blocking.
  std::vector<FileDescriptor> take(const ListenAddress& address);

  bool empty() const { return sockets_.empty(); }
  // Where those listen that are left, for a warning.
  std::vector<std::string> left() const;

 private:
  struct Socket {
    FileDescriptor fd;
    ListenAddress address;
  };
  std::vector<Socket> sockets_;
};

}  // namespace weir::net
