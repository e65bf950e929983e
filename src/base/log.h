// Log lines, one per change of state, to standard error. spdlog stays behind this header: naming it
// in a source file costs seconds of compile time.
//
// THREADS: any.

#pragma once

#include <string_view>

namespace weir::log {

enum class Level { kInfo, kWarning, kError };

void write(Level level, std::string_view message);

inline void info(std::string_view message) {
  write(Level::kInfo, message);
}
inline void warning(std::string_view message) {
  write(Level::kWarning, message);
}
inline void error(std::string_view message) {
  write(Level::kError, message);
}

}  // namespace weir::log
