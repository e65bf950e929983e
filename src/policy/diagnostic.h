// Diagnostic: one mistake or doubt about a policy file, with its place.
//
// Printed as
//     weir.yaml:14:13: window is 0s, must be more than 0
//         window: 0s
//                 ^
//     a window of 1s counts the calls of one second; to block everything use limit: 0
// where the last line is there only when there is more to say. Lines and columns count from 1,
// columns in characters. Secrets (tokens, passwords) are printed as *.
//
// THREADS: plain values; Source and Diagnostics from one thread.

#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::policy {

// Line 0: the file as a whole.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Diagnostic {
  std::string file;
  Position at;
  std::string message;      // what is wrong, what is allowed
  std::string help;         // one more line, or empty
  std::string source;       // the line of the file, safe to print; empty: none
  std::uint32_t caret = 0;  // how many characters of `source` stand before the caret

  std::string to_line() const;    // "file:line:column: message"
  std::string to_string() const;  // to_line(), the source line, the caret, the help; ends in \n
};

// A policy's text. The views live as long as the Source.
class Source {
 public:
  Source(std::string name, std::string text);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view line(std::uint32_t number) const;  // from 1; "" beyond the end
  // Characters (code points) before byte `byte` of a line, plus 1.
  std::uint32_t column_of_byte(std::uint32_t line, std::size_t byte) const;
  std::size_t byte_of_column(std::uint32_t line, std::uint32_t column) const;
  // Whether the text stands at `at` as written, letter for letter.
  bool has_text_at(Position at, std::string_view text) const;

  // From now on messages show `shown` instead of `value`: what a variable holds is nobody's to see.
  void redact(const std::string& value, std::string shown);
  std::string redacted(std::string message) const;

  // From now on prints these characters of a line as *.
  void hide(Position from, std::size_t bytes);
  // The line as printed: secrets and control characters replaced, a long one cut to the part
  // around `column`. `caret` becomes the number of characters before the column.
  std::string printable(Position at, std::uint32_t& caret) const;

 private:
  struct Hidden {
    std::uint32_t line;
    std::size_t byte;
    std::size_t size;
  };

  std::string name_;
  std::string text_;
  std::vector<std::string_view> lines_;
  std::vector<Hidden> hidden_;
  std::map<std::string, std::string, std::greater<>> redactions_;  // the longer of two first
};

// What has been found in one Source so far. Bounded: after kMax mistakes only the count grows.
class Diagnostics {
 public:
  static constexpr std::size_t kMax = 1000;

  explicit Diagnostics(Source& source) : source_(source) {}

  void add(Position at, std::string message, std::string help = "");
  std::size_t count() const { return found_.size() + dropped_; }
  // All, sorted by position (and as found at one position), duplicates removed.
  std::vector<Diagnostic> take();

 private:
  struct Found {
    Position at;
    std::string message;
    std::string help;
  };

  Source& source_;
  std::vector<Found> found_;
  std::size_t dropped_ = 0;
};

}  // namespace weir::policy
