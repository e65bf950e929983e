// A call of the admin API that changes something, read from its path and body.
//
// THREADS: pure functions.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/admin/control.h"
#include "weir/result.h"

namespace weir::admin {

// The parts of a path, decoded: "/v1/limits/login/overrides/a%2Fb" is {"v1", "limits", ...}.
std::vector<std::string> path_parts(std::string_view path);

// What the path names, as Change::target; empty for a path that names nothing to change:
//   /v1/policy   /v1/limits/NAME   /v1/limits/NAME/overrides/VALUE[/VALUE...]
std::vector<std::string> target_of(const std::vector<std::string>& parts);

// Reads the body of a PUT: {"rate":"5/s","burst":50,"expires":"1h"}. `expires` is a duration from
// now, or a whole number, the Unix time in seconds.
// ERRORS: kInvalid, naming the field.
Result<bool> read_set(std::string_view body, Change& out);

// Reads the body of a ban: {"match":{"ip":"203.0.113.7"},"for":"1h"}; without `for` until it is
// taken back.
Result<bool> read_ban(std::string_view body, Change& out);

// One key that a limit has banned.
struct BannedKey {
  std::string limit;
  std::vector<std::string> key;
};

// Reads {"limit":"login","key":["203.0.113.7"]}; nothing where no limit is named.
Result<std::optional<BannedKey>> read_banned_key(std::string_view body);

}  // namespace weir::admin
