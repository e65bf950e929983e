// Request targets (RFC 9112 section 3.2) and hosts.
//
//   origin    /path?query               absolute  http://host:port/path?query
//   asterisk  * (OPTIONS only)          authority host:port (CONNECT only: refused)
//
// An absolute target is read as its path, and its authority takes the place of Host. Nothing is
// decoded or normalised here: that is the policy's matter.
//
// THREADS: pure functions.

#pragma once

#include <cstdint>
#include <string_view>

#include "wire/http1/parse.h"

namespace weir::http1 {

enum class TargetForm : std::uint8_t { kOrigin, kAbsolute, kAsterisk };

struct Target {
  TargetForm form = TargetForm::kOrigin;
  std::string_view path;       // "/" at least, or "*"; points into the target or to static text
  std::string_view query;      // after the first '?', without it
  bool has_query = false;      // "/a?" has one, which is empty
  std::string_view authority;  // of the absolute form
};

// REQUIRES: `target` holds only kTargetChar bytes and is not empty.
// ENSURES: false when refused, and then `error` says why.
bool read_target(std::string_view method, std::string_view target, Target& out, ParseError& error);

// Whether the path is one that the target implies without spelling it: static text.
bool is_implied_path(std::string_view path);

// A Host field or an authority: a name, an IPv4 address or a bracketed IPv6 address, and perhaps a
// port up to 65535. Not empty, no user information.
bool is_valid_host(std::string_view host);

}  // namespace weir::http1
