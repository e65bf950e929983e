// TextFile: a whole file of bounded size, read at once.
//
// THREADS: any.

#pragma once

#include <cstddef>
#include <string>

#include "weir/result.h"

namespace weir {

struct TextFile {
  std::string text;
  bool world_readable = false;  // every user of this machine can read it
};

// ERRORS: kNotFound where there is none, kIo, kInvalid for what is no file, kExhausted above `most`
// bytes. The message stands behind the file's name: "cannot be opened: No such file or directory".
Result<TextFile> read_text_file(const std::string& path, std::size_t most);

}  // namespace weir
