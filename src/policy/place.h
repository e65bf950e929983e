// Place: where in the file a byte of a scalar's text stands.
//
// THREADS: pure functions.

#pragma once

#include "policy/diagnostic.h"
#include "policy/node.h"

namespace weir::policy {

// The place of byte `offset` of a scalar, where its text stands in one line as it is; else (folded,
// escaped, expanded text) the place of the scalar.
Position place_in_scalar(const Source& source, const Node& scalar, std::size_t offset);

}  // namespace weir::policy
