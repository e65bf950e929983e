// Routes that are never taken, since one above them takes all their requests.
//
// THREADS: see reader.h.

#pragma once

#include "policy/policy.h"
#include "policy/reader.h"

namespace weir::policy {

// `root` is the file's mapping, for places.
void warn_of_routes(Reader& reader, const Node& root, const Policy& policy);

}  // namespace weir::policy
