#include "serve/gateway/watched_request.h"

#include "base/check.h"

namespace weir::gateway {

WatchedRequest::WatchedRequest(std::string_view head, const http1::Limits& limits,
                               std::string_view request_id)
    : head_(head), request_id_(request_id), parser_(limits) {
  WEIR_CHECK(parser_.parse(head_) == http1::Progress::kComplete, "the head was read before");
  facts_.emplace(parser_.head(), path_buffer_);
  facts_->set_request_id(request_id_);
}

Result<bool> WatchedRequest::read(const policy::Policy& policy, const IpAddress& peer,
                                  Instant read_at) {
  return facts_->read(policy.identity, policy.paths, peer, read_at);
}

}  // namespace weir::gateway
