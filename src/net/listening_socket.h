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

#include "net/file_descriptor.h"
#include "weir/result.h"

namespace weir::net {

struct ListenAddress {
  std::string host;        // an IP address or a name; without brackets
  std::uint16_t port = 0;  // 0: any free one

  std::string to_string() const;
};

struct ListeningSockets {
  std::vector<FileDescriptor> sockets;
  bool is_v6 = false;
  std::uint16_t port = 0;  // the real one
};

// ERRORS: kInvalid when the host is no address and no name of one; kIo when the address cannot be
// listened on, naming it.
Result<ListeningSockets> listen_on(const ListenAddress& address, std::size_t count);

}  // namespace weir::net
