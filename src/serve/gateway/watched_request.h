// WatchedRequest: what was known of a handshake, kept for as long as the WebSocket connection is
// open, since limits on its messages may ask for any of it.
//
// THREADS: one connection, one thread. Holds a copy of the request's head and little more.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ip.h"
#include "policy/path.h"
#include "policy/policy.h"
#include "serve/gateway/request_facts.h"
#include "wire/http1/request.h"

namespace weir::gateway {

class WatchedRequest {
 public:
  // REQUIRES: `head` is one whole head that was parsed before.
  WatchedRequest(std::string_view head, const http1::Limits& limits, std::string_view request_id);
  WatchedRequest(const WatchedRequest&) = delete;
  WatchedRequest& operator=(const WatchedRequest&) = delete;

  // ERRORS: kInvalid, under a policy that came into force since the request was read first.
  Result<bool> read(const policy::Policy& policy, const IpAddress& peer, Instant read_at);

  // REQUIRES: read() succeeded.
  RequestFacts& facts() { return *facts_; }

 private:
  const std::string head_;
  const std::string request_id_;
  http1::RequestParser parser_;
  policy::PathBuffer path_buffer_;
  std::optional<RequestFacts> facts_;
};

}  // namespace weir::gateway
