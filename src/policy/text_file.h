// Files of text that a policy is, or names.
//
// THREADS: any. Blocks while it reads.

#pragma once

#include <string>

#include "weir/result.h"

namespace weir::policy {

struct TextFile {
  std::string text;
  bool world_readable = false;
};

// ERRORS: what is wrong with the file, as the rest of a sentence: "cannot be opened: ...". A
// folder, a device and what is larger than 64 MiB are refused.
Result<TextFile> read_text_file(const std::string& path);

}  // namespace weir::policy
