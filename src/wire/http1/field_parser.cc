#include "wire/http1/field_parser.h"

#include "wire/http1/characters.h"
#include "wire/http1/scan.h"

namespace weir::http1 {

namespace {

// Longer names are nobody's, and 16 bits hold this length.
constexpr std::ptrdiff_t kMaxNameBytes = 1024;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

inline void FieldParser::keep_value(const char* base, const char* end) {
  FieldSlot& field = table_.next();
  const char* const begin = base + field.value_begin;
  while (end != begin && is_blank(end[-1])) --end;
  field.value_size = static_cast<std::uint32_t>(end - begin);
  field.id = HeaderId::kOther;
  if (may_be_known(field.name_size)) {
    field.id = identify({base + field.name_begin, field.name_size});
  }
  table_.keep_next();
}

Progress FieldParser::parse(std::string_view data, std::uint32_t& position) {
  Cursor in{data.data(), data.data() + position, data.data() + data.size()};
  if (state_ == State::kLine) take_whole_lines(in);
  while (take_line(in)) {
  }
  position = in.offset();
  if (state_ == State::kDone) return Progress::kComplete;
  return error_.message.empty() ? Progress::kNeedMore : Progress::kError;
}

// Lines that have arrived whole and are right, which is nearly all there is. Stops before the first
// that is not: the steps below know how to wait and how to refuse.
void FieldParser::take_whole_lines(Cursor& in) {
  for (;;) {
    if (in.end - in.at >= 2 && in.at[0] == '\r' && in.at[1] == '\n') {
      in.at += 2;
      state_ = State::kDone;
      return;
    }
    if (table_.full()) return;
    const char* const name = in.at;
    const char* const colon = skip_token(name, in.end);
    if (colon == in.end || *colon != ':') return;
    if (colon == name || colon - name > kMaxNameBytes) return;
    const char* value = colon + 1;
    while (value != in.end && is_blank(*value)) ++value;
    const char* const line_end = skip_field_value(value, in.end);
    if (in.end - line_end < 2 || line_end[0] != '\r' || line_end[1] != '\n') return;
    FieldSlot& field = table_.next();
    field.name_begin = in.offset();
    field.name_size = static_cast<std::uint16_t>(colon - name);
    field.value_begin = static_cast<std::uint32_t>(value - in.base);
    keep_value(in.base, line_end);
    in.at = line_end + 2;
  }
}

// One line, from wherever it was left.
bool FieldParser::take_line(Cursor& in) {
  switch (state_) {
    case State::kLine:
      if (!begin_line(in)) return false;
      if (state_ == State::kLast) return take_line_feed(in, State::kDone) && false;
      [[fallthrough]];
    case State::kName:
      if (!take_name(in)) return false;
      [[fallthrough]];
    case State::kBlank:
      if (!take_blanks(in)) return false;
      [[fallthrough]];
    case State::kValue:
      if (!take_value(in)) return false;
      [[fallthrough]];
    case State::kLineFeed:
      return take_line_feed(in, State::kLine);
    case State::kLast:
      take_line_feed(in, State::kDone);
      return false;
    case State::kDone:
      break;
  }
  return false;
}

inline bool FieldParser::begin_line(Cursor& in) {
  if (in.at == in.end) return false;
  if (*in.at == '\r') {
    ++in.at;
    state_ = State::kLast;
    return true;
  }
  if (!is(*in.at, kTokenChar)) return fail_line_start(*in.at);
  if (table_.full()) return fail(431, "too many header fields; send fewer");
  table_.next().name_begin = in.offset();
  state_ = State::kName;
  return true;
}

inline bool FieldParser::take_name(Cursor& in) {
  const char* const begin = in.base + table_.next().name_begin;
  const bool bounded = in.end - begin > kMaxNameBytes;
  const char* const limit = bounded ? begin + kMaxNameBytes + 1 : in.end;
  in.at = skip_token(in.at, limit);
  if (in.at == limit) {
    return bounded ? fail(431, "header name is longer than 1024 bytes") : false;
  }
  if (*in.at != ':') return fail_name_end(*in.at);
  table_.next().name_size = static_cast<std::uint16_t>(in.at - begin);
  ++in.at;
  state_ = State::kBlank;
  return true;
}

inline bool FieldParser::take_blanks(Cursor& in) {
  while (in.at != in.end && is_blank(*in.at)) ++in.at;
  if (in.at == in.end) return false;
  table_.next().value_begin = in.offset();
  state_ = State::kValue;
  return true;
}

inline bool FieldParser::take_value(Cursor& in) {
  in.at = skip_field_value(in.at, in.end);
  if (in.at == in.end) return false;
  if (*in.at == '\n') return fail(400, "line feed without carriage return in a header");
  if (*in.at != '\r') return fail(400, "control byte in a header value");
  keep_value(in.base, in.at);
  ++in.at;
  state_ = State::kLineFeed;
  return true;
}

inline bool FieldParser::take_line_feed(Cursor& in, State next) {
  if (in.at == in.end) return false;
  if (*in.at != '\n') return fail(400, "carriage return without line feed in the headers");
  ++in.at;
  state_ = next;
  return true;
}

bool FieldParser::fail(int status, std::string_view message) {
  error_ = {status, message};
  return false;
}

bool FieldParser::fail_line_start(char c) {
  if (is_blank(c)) return fail(400, "folded header line; put the value on one line");
  if (c == ':') return fail(400, "header without a name");
  if (c == '\n') return fail(400, "line feed without carriage return in the headers");
  return fail(400, "byte that may not stand in a header name");
}

bool FieldParser::fail_name_end(char c) {
  if (is_blank(c)) return fail(400, "blank before the colon of a header");
  if (c == '\r' || c == '\n') return fail(400, "header line without a colon");
  return fail(400, "byte that may not stand in a header name");
}

void FieldParser::reset() {
  state_ = State::kLine;
  table_.clear();
  error_ = {};
}

}  // namespace weir::http1
