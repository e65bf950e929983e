// The header blocks of an answer: response headers, trailers, and both in one where there is no
// message (RFC 9113, and "gRPC over HTTP2").
//
// THREADS: pure functions over nghttp2's session.

#pragma once

#include "serve/grpc/stream.h"

struct nghttp2_session;

namespace weir::grpc {

// Each returns whether nghttp2 took it.
bool submit_answer(nghttp2_session* http2, const Stream& stream);
bool submit_answer_without_message(nghttp2_session* http2, const Stream& stream);
bool submit_trailers_of(nghttp2_session* http2, const Stream& stream);

}  // namespace weir::grpc
