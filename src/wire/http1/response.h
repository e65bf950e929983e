// ResponseParser: the head of an upstream's response, over one contiguous buffer.
//
//   status-line = HTTP-version SP 3DIGIT [ SP reason ] CRLF             head = status-line section
//
// The same habits as RequestParser (request.h), and the same strictness: a response that two
// readers could frame differently is an error, with status 502. Interim responses (1xx) are heads
// of their own without a body: reset() and parse on, until is_interim() is false.
//
// THREADS: one parser, one thread. Bounds: Limits. No allocation after construction.

#pragma once

#include <cstdint>
#include <string_view>

#include "wire/http1/field_parser.h"
#include "wire/http1/framing.h"
#include "wire/http1/headers.h"
#include "wire/http1/parse.h"

namespace weir::http1 {

struct ResponseHead {
  std::string_view reason;  // may be empty
  Headers headers;
  Body body;  // for the request that it answers
  int status = 0;
  int minor_version = 1;
  bool keep_alive = true;

  // 1xx but 101, after which the connection speaks another protocol.
  bool is_interim() const { return status < 200 && status != 101; }
  bool switches_protocols() const { return status == 101; }
};

class ResponseParser {
 public:
  explicit ResponseParser(const Limits& limits = {});

  // `to_head`: the request was a HEAD, whose answer describes a body and has none.
  Progress parse(std::string_view data, bool to_head = false);

  // REQUIRES: parse() answered kComplete.
  const ResponseHead& head() const { return head_; }
  std::uint32_t consumed() const { return position_; }
  // REQUIRES: parse() answered kError.
  const ParseError& error() const { return error_; }

  // Points the views of head() at the same bytes in another place. REQUIRES: kComplete.
  void rebase(const char* base);
  void reset();
  bool begun() const { return position_ != 0; }

 private:
  enum class State : std::uint8_t {
    kVersion,
    kStatus,
    kReason,
    kLineFeed,
    kFields,
    kComplete,
    kError
  };

  bool take_version(std::string_view data);
  bool take_status(std::string_view data);
  bool take_reason(std::string_view data);
  bool take_line_feed(std::string_view data);
  bool take_fields(std::string_view data, bool to_head);
  bool finish(std::string_view data, bool to_head);
  bool fail(std::string_view message);

  Limits limits_;
  const char* base_ = nullptr;
  State state_ = State::kVersion;
  std::uint32_t position_ = 0;
  std::uint32_t reason_begin_ = 0;
  std::uint32_t reason_size_ = 0;
  FieldParser fields_;
  ResponseHead head_;
  ParseError error_;
};

}  // namespace weir::http1
