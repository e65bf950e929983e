// What OpenSSL reads and writes a non-blocking socket by.
//
// WHY not OpenSSL's own: it does not tell whether a read took all that had come, so that each
// request would cost one more that finds nothing; and it raises SIGPIPE.
//
// THREADS: one owner.

#pragma once

#include <openssl/bio.h>

namespace weir::net {

struct TlsSocket {
  int fd = -1;
  bool drained = false;  // the last read took all that had come
  bool ended = false;    // the peer sends no more
};

// Null: no memory. REQUIRES: `socket` outlives it.
BIO* make_socket_bio(TlsSocket& socket);

}  // namespace weir::net
