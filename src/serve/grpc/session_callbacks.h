// What nghttp2 calls while it is fed bytes or asked for some, turned into members of Session.
//
// THREADS: the objects are made once and immutable.

#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>

namespace weir::grpc {

class Session;

// A server session of nghttp2 that reports to `session`; null when memory is out.
nghttp2_session* make_http2(Session& session, std::uint32_t max_calls,
                            std::uint32_t max_header_bytes);

// Where the DATA frames of a stream come from.
nghttp2_data_provider data_of_stream();

}  // namespace weir::grpc
