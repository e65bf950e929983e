// Warnings: what is legal, and probably not what was meant.
//
// THREADS: see reader.h.

#pragma once

#include "policy/policy.h"
#include "policy/reader.h"

namespace weir::policy {

// Looks at the whole policy, which may be one with mistakes. `root` is the file's mapping, for
// places. `world_readable`: every user of the machine can read the file.
void warn(Reader& reader, const Node& root, const Policy& policy, bool world_readable);

}  // namespace weir::policy
