// RequestAttributes: the attributes of an HTTP request, for the listeners that have one: the
// gateway, to which a client sends it, and the check API, to which a proxy describes it. They bring
// the lines (policy::RequestFields) and say what has been worked out of them; which attribute is
// which of these stands here, once.
//
// A header that stands in several lines is one value, joined by ", ", as HTTP has it.
//
// THREADS: one request, one thread.

#pragma once

#include <forward_list>
#include <optional>
#include <string>
#include <string_view>

#include "engine/attributes.h"
#include "policy/identity.h"

namespace weir::engine {

class RequestAttributes : public Attributes, public policy::RequestFields {
 public:
  RequestAttributes() = default;
  RequestAttributes(const RequestAttributes&) = delete;  // its views are into itself
  RequestAttributes& operator=(const RequestAttributes&) = delete;

  std::optional<std::string_view> find(const policy::Attribute& attribute) const override;
  std::optional<IpAddress> ip() const override { return client_.ip; }

 protected:
  std::string_view method_;
  std::string_view path_;            // in normal form, for matching
  std::optional<std::string> host_;  // in normal form
  policy::Client client_;
  mutable std::forward_list<std::string> made_;  // values that do not stand in the request as such

 private:
  std::optional<std::string_view> joined_header(std::string_view name) const;
};

}  // namespace weir::engine
