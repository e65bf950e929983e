// Io: what became of one read or write that does not wait.
//
// THREADS: a plain value.

#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::net {

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

}  // namespace weir::net
