// What a session does with what it has to say, where its stream may take only a part of it now.
//
// THREADS: the stream's loop.

#pragma once

#include <string>

#include "net/stream.h"

namespace weir::net {

// Writes `out` from `sent` on. kMoved: all of it is written, and both begin anew, without the room
// of an unusually long one. kWouldBlock: the peer has to read first; call again once the stream is
// writable. kFailed: the peer is gone.
inline Io::Status write_out(Stream& stream, std::string& out, std::size_t& sent) {
  while (sent < out.size()) {
    const Io put = stream.write(out.data() + sent, out.size() - sent);
    if (put.status != Io::Status::kMoved) return put.status;
    sent += put.bytes;
  }
  out.clear();
  if (out.capacity() > kScratchBytes) out.shrink_to_fit();
  sent = 0;
  return Io::Status::kMoved;
}

}  // namespace weir::net
