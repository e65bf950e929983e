// RequestView: one request's attributes as matching and keys read them.
//
// Asks the listener for each thing at most as often as it is needed, keeps the address and the
// second reading of the path (%2F as a slash), and holds the one rule about methods: HEAD counts as
// GET, since it asks for the same work.
//
// THREADS: belongs to one decision.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/attributes.h"
#include "policy/policy.h"

namespace weir::engine {

class RequestView {
 public:
  RequestView(const Attributes& attributes, const policy::Paths& paths)
      : attributes_(attributes), paths_(paths) {}

  // The value as a key counts it; nothing for kIp, which has its own.
  std::optional<std::string_view> find(const policy::Attribute& attribute) const;

  const std::optional<IpAddress>& ip();
  std::optional<std::string_view> method() const;
  std::optional<std::string_view> path();
  // The path with %2F read as a slash; nothing where there is none.
  const std::optional<std::string>& path_with_slashes();
  bool can_release() const { return attributes_.can_release(); }
  // Whether this is a WebSocket message and not a request.
  bool is_message() const;

 private:
  struct Path {
    std::optional<std::string_view> kept;
    std::optional<std::string> decoded;
  };

  const Path& read_path();

  const Attributes& attributes_;
  const policy::Paths& paths_;
  std::optional<std::optional<IpAddress>> ip_;
  std::optional<Path> path_;
};

}  // namespace weir::engine
