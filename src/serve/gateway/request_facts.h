// RequestFacts: one request as identity and engine look at it. Nothing is copied but values that
// had to be decoded or joined; those live as long as this.
//
// THREADS: one request, one thread.

#pragma once

#include <forward_list>
#include <string>
#include <string_view>

#include "base/ip.h"
#include "engine/request_attributes.h"
#include "policy/identity.h"
#include "policy/path.h"
#include "weir/result.h"
#include "wire/http1/request.h"

namespace weir::gateway {

class RequestFacts final : public engine::RequestAttributes {
 public:
  // REQUIRES: `head` and its bytes, and `buffer`, outlive it.
  RequestFacts(const http1::RequestHead& head, policy::PathBuffer& buffer)
      : head_(head), buffer_(buffer) {}

  // Brings path and host into normal form and finds out who asks.
  // ERRORS: kInvalid, to be answered 400.
  Result<bool> read(const policy::Identity& identity, const policy::Paths& paths,
                    const IpAddress& peer, Instant now);

  // What X-Request-Id is taken to say, whatever the client sent. REQUIRES: it outlives this.
  void set_request_id(std::string_view id) { request_id_ = id; }

  // Drops the values that were made for find() since read(): for who asks again and again.
  void forget_made();

  // REQUIRES for these: read() succeeded.
  Instant read_at() const { return read_at_; }
  std::string_view upstream_path() const { return upstream_path_; }
  std::string_view request_id() const { return request_id_; }

  // policy::RequestFields
  std::optional<std::string_view> header(std::string_view name, std::size_t index) const override;
  Found cookie(std::string_view name) const override;
  Found query(std::string_view name) const override;

 private:
  const http1::RequestHead& head_;
  policy::PathBuffer& buffer_;
  std::string_view upstream_path_;
  Instant read_at_;
  std::string_view request_id_;                                         // empty: as it was sent
  std::forward_list<std::string>::const_iterator kept_ = made_.cend();  // of read()'s, the newest
};

}  // namespace weir::gateway
