// Log lines to standard error, as logfmt or JSON: one for each change of state, and records of what
// the operator asked to see (refused requests). spdlog stays behind this header: naming it in a
// source file costs seconds of compile time.
//
//   ts=2026-01-02T03:04:05.678Z level=info msg="reload: weir.yaml is in force, generation 2"
//   {"ts":"2026-01-02T03:04:05.678Z","level":"info","msg":"reload: ..."}
//
// Whatever a value holds, a line stays one line.
//
// THREADS: any; watch() before other threads log.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace weir::log {

enum class Level : std::uint8_t { kInfo, kWarning, kError };
enum class Format : std::uint8_t { kLogfmt, kJson };

std::string_view to_string(Level level);

// From now on; logfmt at first.
void set_format(Format format);

// A change of state.
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

struct Field {
  std::string_view name;  // of letters, digits, '_', '.' and '-'
  std::string_view value;
};

// Something that happened and changed nothing.
void record(std::string_view message, std::span<const Field> fields);

// `seen` is told each change of state too, on the thread that logs it. Null: nobody is.
void watch(std::function<void(Level level, std::string_view message)> seen);

// What stands behind time and level in a line.
std::string format_line(Format format, std::string_view message, std::span<const Field> fields);

}  // namespace weir::log
