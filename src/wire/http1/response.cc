#include "wire/http1/response.h"

#include <algorithm>

#include "base/trim.h"
#include "wire/http1/characters.h"
#include "wire/http1/scan.h"
#include "wire/http1/version.h"

namespace weir::http1 {

namespace {

constexpr std::uint32_t kMaxHeadBytes = 16 * 1024 * 1024;
constexpr std::uint32_t kStatusBytes = 4;  // " 200"

// RFC 9112 section 6.3: these end with their head, whatever their fields say.
bool has_no_body(int status, bool to_head) {
  return to_head || status < 200 || status == 204 || status == 304;
}

}  // namespace

ResponseParser::ResponseParser(const Limits& limits)
    : limits_(limits), fields_(limits.max_headers) {
  limits_.max_head_bytes = std::min(limits_.max_head_bytes, kMaxHeadBytes);
}

Progress ResponseParser::parse(std::string_view data, bool to_head) {
  const std::string_view in = data.substr(0, limits_.max_head_bytes);
  switch (state_) {
    case State::kVersion:
      if (!take_version(in)) break;
      [[fallthrough]];
    case State::kStatus:
      if (!take_status(in)) break;
      [[fallthrough]];
    case State::kReason:
      if (!take_reason(in)) break;
      [[fallthrough]];
    case State::kLineFeed:
      if (!take_line_feed(in)) break;
      [[fallthrough]];
    case State::kFields:
      if (take_fields(in, to_head)) return Progress::kComplete;
      break;
    case State::kComplete:
      return Progress::kComplete;
    case State::kError:
      return Progress::kError;
  }
  if (state_ == State::kError) return Progress::kError;
  if (in.size() < limits_.max_head_bytes) return Progress::kNeedMore;
  fail("head of the response is too large");
  return Progress::kError;
}

bool ResponseParser::take_version(std::string_view data) {
  const Version version = read_version(data);
  if (version.progress == Progress::kError) {
    return fail("response does not begin with HTTP/1.1 or HTTP/1.0");
  }
  if (version.progress == Progress::kNeedMore) return false;
  head_.minor_version = version.minor;
  position_ = kVersionBytes;
  state_ = State::kStatus;
  return true;
}

bool ResponseParser::take_status(std::string_view data) {
  const std::string_view text = data.substr(position_, kStatusBytes);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool fits = i == 0 ? text[i] == ' ' : is(text[i], kDigit);
    if (!fits) return fail("status line without a status of three digits");
  }
  if (text.size() < kStatusBytes) return false;
  head_.status = (text[1] - '0') * 100 + (text[2] - '0') * 10 + (text[3] - '0');
  if (head_.status < 100 || head_.status > 599) return fail("status is not from 100 to 599");
  position_ += kStatusBytes;
  reason_begin_ = position_;
  state_ = State::kReason;
  return true;
}

// The reason and the blank before it, which some servers leave out as well.
bool ResponseParser::take_reason(std::string_view data) {
  const char* const end = data.data() + data.size();
  const char* const at = skip_field_value(data.data() + position_, end);
  position_ = static_cast<std::uint32_t>(at - data.data());
  const std::string_view reason = data.substr(reason_begin_, position_ - reason_begin_);
  if (!reason.empty() && reason[0] != ' ') return fail("status is longer than three digits");
  if (at == end) return false;
  if (*at != '\r') return fail("status line must end in CR LF");
  reason_size_ = position_ - reason_begin_;
  ++position_;
  state_ = State::kLineFeed;
  return true;
}

bool ResponseParser::take_line_feed(std::string_view data) {
  if (position_ == data.size()) return false;
  if (data[position_] != '\n') return fail("carriage return without line feed after the status");
  ++position_;
  state_ = State::kFields;
  return true;
}

bool ResponseParser::take_fields(std::string_view data, bool to_head) {
  const Progress progress = fields_.parse(data, position_);
  if (progress == Progress::kComplete) return finish(data, to_head);
  if (progress == Progress::kError) fail(fields_.error().message);
  return false;
}

bool ResponseParser::finish(std::string_view data, bool to_head) {
  base_ = data.data();
  head_.reason = trim(data.substr(reason_begin_, reason_size_));
  head_.headers = fields_.headers(base_);
  ParseError error;
  const auto body =
      read_framing(head_.headers, head_.minor_version, Body::Kind::kUntilClose, error);
  if (!body) return fail(error.message);
  head_.body = has_no_body(head_.status, to_head) ? Body{} : *body;
  head_.keep_alive =
      keeps_alive(head_.headers, head_.minor_version) && head_.body.kind != Body::Kind::kUntilClose;
  state_ = State::kComplete;
  return true;
}

void ResponseParser::rebase(const char* base) {
  head_.reason = {base + (head_.reason.data() - base_), head_.reason.size()};
  head_.headers = fields_.headers(base);
  base_ = base;
}

void ResponseParser::reset() {
  state_ = State::kVersion;
  position_ = 0;
  fields_.reset();
}

bool ResponseParser::fail(std::string_view message) {
  error_ = {502, message};
  state_ = State::kError;
  return false;
}

}  // namespace weir::http1
