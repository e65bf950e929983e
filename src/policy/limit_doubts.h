// What is legal in a limit and yet doubtful: that it can never fire, that a client can dodge it,
// that what it says of afterwards never happens.
//
// THREADS: see reader.h.

#pragma once

#include "policy/policy.h"
#include "policy/reader.h"

namespace weir::policy {

// The place of `key` in a mapping, else that of the mapping.
Position place_of(const Node& mapping, std::string_view key);

// Looks at every limit. `root` is the file's mapping, for places.
void warn_of_limits(Reader& reader, const Node& root, const Policy& policy);

}  // namespace weir::policy
