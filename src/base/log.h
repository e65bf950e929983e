// Log lines to standard error, as logfmt or JSON: one for each change of state, and records of what
// the operator asked to see (refused requests). spdlog stays behind this header: naming it in a
// source file costs seconds of compile time.
//
//   ts=2026-01-02T03:04:05.678Z level=info msg="reload: weir.yaml is in force, generation 2"
//   {"ts":"2026-01-02T03:04:05.678Z","level":"info","msg":"reload: ..."}
//
// Whatever a value holds, a line stays one line. Who logs waits for who reads standard error,
// unless the program says otherwise (Background).
//
// THREADS: any; watch() before other threads log.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weir {
class LineFile;
}

namespace weir::log {

enum class Level : std::uint8_t { kInfo, kWarning, kError };
enum class Format : std::uint8_t { kLogfmt, kJson };

std::string_view to_string(Level level);

// From now on; logfmt at first.
void set_format(Format format);

// Whether a text may hold anything, or is printable since what cannot be shown stands in it as \xHH
// and a backslash twice: then it is not done once more.
enum class Text : std::uint8_t { kAny, kEscaped };

// A change of state.
void write(Level level, std::string_view message, Text text = Text::kAny);

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
  Text text = Text::kAny;
};

// Something that happened and changed nothing.
void record(std::string_view message, std::span<const Field> fields);

// `seen` is told each change of state too, on the thread that logs it. Null: nobody is.
void watch(std::function<void(Level level, std::string_view message)> seen);

// While one lives, a thread of its own writes the lines, in their order, and who logs waits for
// nobody. What nobody reads is kept up to kMaxWaiting bytes; further lines are dropped and counted,
// and a line says how many, where they would have stood.
//
// THREADS: one at a time, made before others log and gone after them.
class Background {
 public:
  static constexpr std::size_t kMaxWaiting = 1 << 20;

  Background();
  // Writes what waits, and gives up once nothing has been read for a second.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  std::unique_ptr<LineFile> file_;  // null: standard error is closed
};

// Waits until what was logged is written, for a second at most: for who writes to standard error
// without the log, or ends the program.
void flush();

// Lines that were dropped since the program began.
std::uint64_t dropped();

// What stands behind time and level in a line.
std::string format_line(Format format, std::string_view message, std::span<const Field> fields,
                        Text text = Text::kAny);

}  // namespace weir::log
