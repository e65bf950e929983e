// Document: text to tree. One reader for YAML 1.2 (yaml-cpp) and one for TOML 1.0 (toml++); what
// either library accepts silently and a policy must not is refused here.
//
// YAML: duplicate keys, keys that are not scalars, foreign tags, several documents, text that is
// not UTF-8, nesting above 64, aliases that unfold to more than four million values or contain
// themselves are mistakes. `<<: *base` merges (a YAML 1.1 habit that people keep). Variables are
// expanded in values, not in keys. TOML: nesting above 64 is a mistake too, be it by dotted keys.
//
// THREADS: any; a Source from one thread. ERRORS: in `found`; a tree comes back only where the
// syntax held, and may then still have mistakes.

#pragma once

#include "policy/diagnostic.h"
#include "policy/environment.h"
#include "policy/node.h"

namespace weir::policy {

inline constexpr std::size_t kDeepest = 64;          // mappings and lists within each other
inline constexpr std::size_t kMaxNodes = 4'000'000;  // values of one file, aliases unfolded
inline constexpr std::size_t kLargestFile = 64 << 20;

NodePtr read_yaml(const Source& source, const Environment& environment, Diagnostics& found);
NodePtr read_toml(const Source& source, const Environment& environment, Diagnostics& found);

// The scalar of either: text as written, to be expanded. Shared by the readers.
NodePtr make_scalar(Position at, std::string text, Node::Form form, const Environment& environment,
                    const Source& source, Diagnostics& found);

}  // namespace weir::policy
