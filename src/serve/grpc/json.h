// POST /json: Envoy's rate limit request and answer as proto3 JSON, for callers without gRPC.
//
// Members are read in both spellings (hitsAddend, hits_addend). The answer leaves zero values out.
// 200 for OK, 429 for OVER_LIMIT, 400 for what is wrong, 503 where the store cannot be asked.
//
// THREADS: the handler runs on every loop at once.

#pragma once

#include <string>
#include <string_view>

#include "serve/grpc/rate_limiter.h"
#include "serve/http/message.h"
#include "weir/result.h"
#include "wire/grpc/rate_limit.h"

namespace weir::grpc {

// The same request as protobuf. ERRORS: kInvalid, naming the member and what is allowed.
Result<std::string> request_from_json(std::string_view json);

void append_json(const rls::Response& response, std::string& out);

// REQUIRES: `limiter` outlives the handler.
http::AsyncHandler json_handler(const RateLimiter& limiter);

}  // namespace weir::grpc
