// Mask: hides what a line of a policy file must not show, by its looks alone. The schema hides
// secrets that it reads (Reader::hide); this is for lines that never become values: broken syntax,
// a key that stands twice.
//
// THREADS: pure functions.

#pragma once

#include <string>

namespace weir::policy {

// Replaces by * the values of keys named token or password, and the user and password of URLs.
// The length stays.
void mask_secrets(std::string& line);

}  // namespace weir::policy
