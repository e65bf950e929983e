// FieldParser: the header section that requests, responses and chunked trailers share.
//
//   field-line = field-name ":" OWS field-value OWS CRLF        section = *field-line CRLF
//
// Strict (RFC 9112 section 5): no folded lines, no blank before the colon, no bare CR or LF, no
// control bytes, no empty names. It works on one contiguous buffer and remembers where it stopped
// inside a line, so that a head fed byte by byte costs the same as one fed whole, and says the
// same.
//
// Grows its list of slots once and keeps it: no allocation after the first head.
// THREADS: one parser, one thread.

#pragma once

#include <cstdint>
#include <string_view>

#include "wire/http1/headers.h"
#include "wire/http1/parse.h"

namespace weir::http1 {

class FieldParser {
 public:
  explicit FieldParser(std::uint32_t max_fields) : table_(max_fields) {}

  // Goes on at `position` of `data`, which holds the same bytes as before and perhaps more.
  // Advances `position`: to the end of the section, to the byte at fault, or to the end of data.
  Progress parse(std::string_view data, std::uint32_t& position);

  const ParseError& error() const { return error_; }
  // REQUIRES: parse() answered kComplete. Lives as long as the parser and until reset().
  Headers headers(const char* base) const { return {base, table_}; }

  void reset();

 private:
  enum class State : std::uint8_t { kLine, kName, kBlank, kValue, kLineFeed, kLast, kDone };

  struct Cursor {
    const char* base;
    const char* at;
    const char* end;
    std::uint32_t offset() const { return static_cast<std::uint32_t>(at - base); }
  };

  void take_whole_lines(Cursor& in);
  // Each takes one part of a line and says whether to go on: not at the end of the data, nor after
  // a fault.
  bool begin_line(Cursor& in);
  bool take_name(Cursor& in);
  bool take_blanks(Cursor& in);
  bool take_value(Cursor& in);
  bool take_line_feed(Cursor& in, State next);
  bool take_line(Cursor& in);

  bool fail(int status, std::string_view message);
  bool fail_line_start(char c);
  bool fail_name_end(char c);
  void keep_value(const char* base, const char* end);

  State state_ = State::kLine;
  FieldTable table_;
  ParseError error_;
};

}  // namespace weir::http1
