// BodyTemplate: the body of a refusal as a file of the operator's words it (docs/http.md).
//
//   <p>Come back in {{retry_after}} seconds.</p>        a.html
//   {"error": {"limit": "{{limit}}", "wait": {{retry_after}}}}      a.json
//
// A placeholder stands in double braces, with or without blanks inside; \{{ is {{ itself. What a
// value holds is escaped as the file's kind wants it, by the name's end: .json, .html, .htm, .xml,
// .txt. A number that there is none of is null in JSON, and nothing elsewhere; a text that there is
// none of is nothing.
//
// THREADS: immutable after parse(); any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::policy {

class BodyTemplate {
 public:
  static constexpr std::size_t kMaxBytes = 64 * 1024;

  // What a refusal can say.
  struct Values {
    int status = 0;
    std::string_view code;
    std::string_view message;
    std::string_view limit;
    std::string_view reason;
    std::optional<std::uint64_t> retry_after;  // seconds
    std::optional<std::uint64_t> quota;
    std::optional<std::uint64_t> remaining;
    std::optional<std::uint64_t> reset;  // Unix seconds
  };

  // ERRORS: kInvalid for a name of another end, a placeholder that is unknown or not closed (with
  // its line), text that is not UTF-8, or a .json file that would not be JSON.
  static Result<BodyTemplate> parse(std::string_view name, std::string_view text);
  // The same from a file. ERRORS: as parse() and read_text_file(), behind the file's name.
  static Result<std::shared_ptr<const BodyTemplate>> load(const std::string& file);

  std::string_view content_type() const { return content_type_; }  // static text
  void render(const Values& values, std::string& out) const;

 private:
  enum class Escape : std::uint8_t { kNone, kJson, kMarkup };
  struct Kind {
    std::string_view ending;
    std::string_view content_type;
    Escape escape;
  };
  struct Piece {
    std::string literal;
    std::size_t value;  // behind it: a place in the table of placeholders, or their number for none
  };

  static const Kind* kind_of(std::string_view name);
  Result<bool> read_pieces(std::string_view text);
  Result<bool> check_json() const;
  void append_text(std::string_view text, std::string& out) const;
  void append_number(std::optional<std::uint64_t> number, std::string& out) const;

  std::string_view content_type_;
  Escape escape_ = Escape::kNone;
  std::vector<Piece> pieces_;
};

}  // namespace weir::policy
