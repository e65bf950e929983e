// Path: what the upstream gets of a request's path, what policies compare it with, and the same for
// hosts. One normalisation for both, so that what was matched is what is served:
//
//   percent-encoded unreserved characters are decoded, once; other escapes get upper-case digits;
//   bytes that no path may hold are escaped; doubled slashes are merged (merge_slashes); dot
//   segments are removed and never lead above the root; "..;x" is a dot segment where ;params are
//   ignored, since a server that ignores them would read it so.
//
// For comparing only: ;params are cut off each segment, one trailing slash is ignored, letters are
// folded (case: fold). A backslash is not a slash. Nothing is decoded twice.
//
// THREADS: pure functions; a PathBuffer belongs to one caller.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/policy.h"
#include "weir/result.h"

namespace weir::policy {

// The parts of a request target in origin-form, absolute-form or asterisk-form.
struct Target {
  std::string_view path;                      // as sent; "/" where an absolute-form has none
  std::optional<std::string_view> query;      // after the first '?', without it
  std::optional<std::string_view> authority;  // of an absolute-form
};

// ERRORS: kInvalid for a fragment, and for what is none of the three forms.
Result<Target> split_target(std::string_view target);

// Holds the bytes of a path that is not in normal form already. Kept by a connection, it makes
// normalising free of allocations.
struct PathBuffer {
  std::string upstream;
  std::string match;
};

// The views stand in the path as sent or in the buffer.
struct NormalPath {
  std::string_view upstream;
  std::string_view match;
};

// ERRORS: kInvalid (answer 400) for a path that does not begin with '/' (but "*"), for an
// incomplete or non-hexadecimal escape, and for %2F where encoded_slash is `refuse`.
Result<NormalPath> normalise_path(std::string_view path, const Paths& options, PathBuffer& buffer);

// The other reading of a path that holds "%2F": with the slashes decoded, in normal form again.
// Nothing where there is none. `match` is a NormalPath's.
std::optional<std::string> with_slashes_decoded(std::string_view match, const Paths& options);

// The pattern as it compares with a NormalPath's `match` under these options.
Pattern prepare_path_pattern(const Pattern& written, const Paths& options);

// A condition whose pattern compares with what listeners give: hosts folded, paths in normal form.
Condition prepare(const Condition& written, const Paths& paths);
Match prepare(const Match& written, const Paths& paths);

// A host without port, one trailing dot and upper case; nothing for an empty one.
// ERRORS: kInvalid (answer 400) for what is no host.
Result<std::optional<std::string>> normalise_host(std::string_view host);

}  // namespace weir::policy
