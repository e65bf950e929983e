// Matches and keys: the parts of a limit that name attributes.
//
// THREADS: see reader.h.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/sections.h"

namespace weir::policy {

// An attribute's name, or nothing after telling the mistake at `at`: "unknown attribute 'usr', did
// you mean user?"
std::optional<Attribute> read_attribute(Reader& reader, std::string_view text, Position at,
                                        const Scope& scope);

// `{ method: POST, path: /login }`; nothing when all of it was wrong.
std::optional<Match> read_match(Reader& reader, const Entry& entry, const Scope& scope);

// What one attribute must be: `POST`, `[GET, HEAD]`, or where files may be read `{ file: list.txt
// }`.
void read_pattern(Reader& reader, const Entry& entry, const Attribute& attribute,
                  bool may_read_files, Pattern& pattern);

// A list of matches.
std::vector<Match> read_matches(Reader& reader, const Entry& entry, const Scope& scope);

// `[ip, user|header.x-key]`.
std::vector<KeyPart> read_key(Reader& reader, const Entry& entry, const Scope& scope);

// One part of it: "user|ip". Nothing after telling the mistake.
std::optional<KeyPart> read_key_part(Reader& reader, std::string_view text, Position at,
                                     const Scope& scope);

}  // namespace weir::policy
