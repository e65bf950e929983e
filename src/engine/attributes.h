// Attributes: what is known of one request, as its listener knows it.
//
// A listener implements this over the bytes it has; nothing is copied. Views live as long as the
// request. THREADS: one request is asked from one thread.

#pragma once

#include <optional>
#include <string_view>

#include "base/ip.h"
#include "policy/attribute.h"

namespace weir::engine {

class Attributes {
 public:
  virtual ~Attributes() = default;

  // The value, or nothing when the request lacks it. Never asked for kIp. A path is already
  // normalised (policy/path.h), a host already without port, trailing dot and upper case.
  virtual std::optional<std::string_view> find(const policy::Attribute& attribute) const = 0;

  // The client's address, unmasked.
  virtual std::optional<IpAddress> ip() const = 0;

  // Whether the listener says when the call has ended. Limits on calls in flight apply only then.
  virtual bool can_release() const { return true; }
};

}  // namespace weir::engine
