// The common form of a check, read without building a tree of it:
//
//   {"attributes":{"ip":"203.0.113.7","path":"/login"},"cost":1}
//
// Reads only what can be read in one way: distinct members, strings of printable ASCII without
// escapes, whole numbers. At anything else, a mistake included, it declines and the strict reader
// has the word; so it accepts nothing that the other would refuse, and reads nothing differently
// (a fuzzer holds it to that).
//
// THREADS: pure functions.

#pragma once

#include <string_view>

#include "policy/policy.h"
#include "serve/api/check_request.h"

namespace weir::api {

// False where it declines; `out` then holds half of it.
// REQUIRES: `out` is empty.
[[nodiscard]] bool read_plain_check(std::string_view body, const policy::Policy& policy,
                                    CheckRequest& out);

}  // namespace weir::api
