// RequestParser: the head of an HTTP/1.1 or HTTP/1.0 request, over one contiguous buffer.
//
//   request-line = method SP request-target SP HTTP-version CRLF        head = request-line section
//
// Give it everything that has arrived of the message, again and longer each time; it goes on where
// it stopped. What it answers depends on the bytes alone, never on how they were cut. A fault is
// told at the byte that makes it certain. One empty line before the request is skipped.
//
// The views of head() point into the last data parsed; after the buffer has moved, rebase().
// THREADS: one parser, one thread. Bounds: Limits. No allocation after construction.

#pragma once

#include <cstdint>
#include <string_view>

#include "wire/http1/field_parser.h"
#include "wire/http1/framing.h"
#include "wire/http1/headers.h"
#include "wire/http1/parse.h"
#include "wire/http1/target.h"

namespace weir::http1 {

struct RequestHead {
  std::string_view method;  // a token as sent; methods are case-sensitive
  std::string_view target;  // as sent
  std::string_view path;    // of the target, not decoded; "/" at least, or "*"
  std::string_view query;   // without '?'
  std::string_view host;    // of an absolute target, else of Host; empty in HTTP/1.0 without one
  Headers headers;
  Body body;
  TargetForm form = TargetForm::kOrigin;
  int minor_version = 1;
  bool has_query = false;
  bool keep_alive = true;        // what the client wants of the connection
  bool expect_continue = false;  // it waits for 100 before it sends the body
  bool upgrade = false;          // Connection lists upgrade, and an Upgrade field names protocols
};

class RequestParser {
 public:
  explicit RequestParser(const Limits& limits = {});

  Progress parse(std::string_view data);

  // REQUIRES: parse() answered kComplete.
  const RequestHead& head() const { return head_; }
  std::uint32_t consumed() const { return position_; }
  // REQUIRES: parse() answered kError.
  const ParseError& error() const { return error_; }

  // Points the views of head() at the same bytes in another place. REQUIRES: kComplete.
  void rebase(const char* base);
  // Ready for the next message, which begins a buffer of its own.
  void reset();
  // Whether any byte of a message has been read: what tells an idle connection from a stalled one.
  bool begun() const { return position_ != 0; }

 private:
  enum class State : std::uint8_t {
    kStart,
    kEmptyLine,
    kMethod,
    kTarget,
    kVersion,
    kFields,
    kComplete,
    kError
  };
  struct Span {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };

  bool take_whole_line(std::string_view data);
  bool start(std::string_view data);
  bool take_empty_line(std::string_view data);
  bool take_method(std::string_view data);
  bool take_target(std::string_view data);
  bool take_version(std::string_view data);
  bool take_fields(std::string_view data);
  bool finish(std::string_view data);
  bool read_target_and_host();
  bool read_host(std::string_view authority);
  void read_connection();
  bool read_expect();
  bool refuse();
  bool fail(int status, std::string_view message);
  bool fail_target_end(char c);

  Limits limits_;
  const char* base_ = nullptr;  // what the views of head_ point into
  State state_ = State::kStart;
  std::uint32_t position_ = 0;  // where to go on
  std::uint32_t begin_ = 0;     // of the request line
  Span method_;
  Span target_;
  std::uint32_t path_size_ = 0;  // of an origin-form target, where known; else 0
  FieldParser fields_;
  RequestHead head_;
  ParseError error_;
};

}  // namespace weir::http1
