// Reference: the tables of every key, printed for docs/policy.md.
//
// THREADS: pure functions.

#pragma once

#include <string>

namespace weir::policy {

// Markdown: a heading and a table for each section, in the order of schema.h's tables.
std::string reference();

}  // namespace weir::policy
