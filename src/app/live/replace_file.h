// A file that is replaced whole: a reader, or a start after a crash, sees the old text or the new.
//
// THREADS: one writer of a file.

#pragma once

#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::app {

// With mode 0600. ERRORS: kIo, naming the file.
Result<bool> replace_file(const std::string& file, std::string_view text);

}  // namespace weir::app
