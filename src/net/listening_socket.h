// Listening sockets: several on one address, shared by SO_REUSEPORT, one for each loop.
//
// WHY a plain bind first: with SO_REUSEPORT alone a second program of the same user that also sets
// it would share our port in silence, and half of the connections would go there.
//
// THREADS: plain functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "net/unix_socket.h"
#include "weir/result.h"

namespace weir::net {

class InheritedSockets;

struct ListenAddress {
  std::string host;        // an IP address or a name; without brackets
  std::uint16_t port = 0;  // 0: any free one
  std::string path{};      // not empty: a unix socket, in place of the two

  bool is_unix() const { return !path.empty(); }
  std::string to_string() const;  // "127.0.0.1:8080", "unix:///run/weir.sock"
};

struct ListeningSockets {
  std::vector<FileDescriptor> sockets;  // at least one for each of `count`
  std::uint16_t port = 0;               // the real one
  UnixSocketFile file;                  // of a unix socket that we have made
};

// `inherited`: where a socket that listens on the address already is looked for first; null: none.
// ERRORS: kInvalid when the host is no address and no name of one; kIo when the address cannot be
// listened on, naming it.
Result<ListeningSockets> listen_on(const ListenAddress& address, std::size_t count,
                                   InheritedSockets* inherited = nullptr);

}  // namespace weir::net
