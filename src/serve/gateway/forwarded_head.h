// The heads that the gateway writes: a client's request for the upstream, the upstream's response
// for the client.
//
// What is passed on is copied in runs of whole lines; what belongs to one connection (RFC 9110
// section 7.6.1), or is the gateway's to say, is left out and written anew.
//
// Request: Via is added; X-Forwarded-For gets the peer's address at its end when the peer is a
// trusted proxy, and is replaced by it when not; X-Forwarded-Proto and -Host stay when a trusted
// proxy sent them and are replaced when not; X-Request-Id is the gateway's to say. From others,
// Forwarded, X-Real-IP and every X-Forwarded-* are dropped: nobody vouches for them. Host is passed
// on as sent. Response: Via is added; where the gateway says RateLimit*, X-RateLimit-* or shadow
// headers, the upstream's own are dropped, so that a client sees one set.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>

#include "wire/http1/request.h"
#include "wire/http1/response.h"

namespace weir::gateway {

struct RequestContext {
  std::string_view path;  // in normal form
  std::string_view peer;  // the address at the other end of the connection, as text
  bool peer_trusted = false;
  bool tls = false;             // spoken on the client's connection
  std::string_view request_id;  // in place of what the client sent; empty: that passes
  std::string_view upstream;    // host:port, for HTTP/1.0 requests that name no host
  bool upgrade = false;         // pass the wish for another protocol on
  bool plain_frames = false;    // without extensions, which change what stands in a frame
};

// `end` is one past the head's last byte. The views of `head` stand in one piece before it.
void append_request_head(std::string& out, const http1::RequestHead& head, const char* end,
                         const RequestContext& context);

struct ResponseContext {
  std::string_view rate_headers;  // whole lines; empty: the upstream's own pass
  bool close = false;             // the client's connection ends with this response
  bool keep_alive_1_0 = false;    // an HTTP/1.0 client asked to keep it, and it is kept
  bool chunked = false;           // the body is framed in chunks
};

void append_response_head(std::string& out, const http1::ResponseHead& head, const char* end,
                          const ResponseContext& context);

}  // namespace weir::gateway
