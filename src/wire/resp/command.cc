#include "wire/resp/command.h"

#include <algorithm>
#include <cstring>

#include "base/hex.h"
#include "base/letters.h"

namespace weir::resp {
namespace {

constexpr std::size_t kUsualArguments = 16;
constexpr std::size_t kMaxNumber = 20;  // digits of a length or count, and a sign

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

char escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// The byte that the escape at line[i] (after its backslash) stands for; moves i past it.
char take_escape(std::string_view line, std::size_t& i) {
  if (line[i] == 'x') {
    if (const int byte = hex_byte(line, i + 1); byte >= 0) {
      i += 3;
      return static_cast<char>(byte);
    }
  }
  return escaped(line[i++]);
}

bool is_line_end(const char* at) {
  return std::memcmp(at, "\r\n", 2) == 0;  // one comparison of two bytes
}

// A number of at most nine digits and CR LF at `at`; moves `at` behind them. False where there is
// anything else, or not enough.
bool take_number_line(const char*& at, const char* end, std::uint32_t& number) {
  const char* stop = at + std::min<std::ptrdiff_t>(end - at, 9);
  const char* digit = at;
  for (number = 0; digit != stop && *digit >= '0' && *digit <= '9'; ++digit) {
    number = number * 10 + static_cast<std::uint32_t>(*digit - '0');
  }
  if (digit == at || end - digit < 2 || !is_line_end(digit)) return false;
  at = digit + 2;
  return true;
}

// The same; most are of one digit or two.
[[gnu::always_inline]] inline bool take_short_number(const char*& at, const char* end,
                                                     std::uint32_t& number) {
  if (end - at < 4) return take_number_line(at, end, number);
  const auto first = static_cast<std::uint32_t>(at[0] - '0');
  const auto second = static_cast<std::uint32_t>(at[1] - '0');
  if (first <= 9 && is_line_end(at + 1)) {
    number = first;
    at += 3;
    return true;
  }
  if (first <= 9 && second <= 9 && is_line_end(at + 2)) {
    number = first * 10 + second;
    at += 4;
    return true;
  }
  return take_number_line(at, end, number);
}

}  // namespace

CommandParser::CommandParser(CommandLimits limits) : limits_(limits) {
  ranges_.reserve(kUsualArguments);
  arguments_.reserve(kUsualArguments);
}

Progress CommandParser::parse(std::string_view data) {
  if (state_ == State::kComplete) start();
  if (state_ == State::kStart && take_whole(data)) return Progress::kComplete;
  while (step(data)) {
  }
  if (state_ == State::kComplete) return Progress::kComplete;
  return state_ == State::kError ? Progress::kError : Progress::kNeedMore;
}

void CommandParser::start() {
  state_ = State::kStart;
  position_ = 0;
  ranges_.clear();
  arguments_.clear();
  words_.clear();
}

// The usual case in one pass: a whole command is there, and right. Else false, and step() sees to
// it from the start. WHY: twice as fast as step() by step().
bool CommandParser::take_whole(std::string_view data) {
  if (data.empty() || data[0] != '*') return false;
  data = data.substr(0, limits_.max_command_bytes);
  const char* at = data.data() + 1;
  const char* const end = data.data() + data.size();
  std::uint32_t count = 0;
  if (!take_short_number(at, end, count) || count == 0 || count > limits_.max_arguments) {
    return false;
  }
  arguments_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t length = 0;
    if (at == end || *at++ != '$' || !take_short_number(at, end, length)) return false;
    if (length > limits_.max_argument_bytes || end - at < std::ptrdiff_t{length} + 2) return false;
    if (!is_line_end(at + length)) return false;
    arguments_.emplace_back(at, length);
    at += length + 2;
  }
  position_ = static_cast<std::size_t>(at - data.data());
  state_ = State::kComplete;
  return true;
}

// Takes one piece; false when it is not there in full, or the command is at its end.
bool CommandParser::step(std::string_view data) {
  switch (state_) {
    case State::kStart:
      if (data.empty()) return false;
      if (data[0] == '\x16') return fail("this is a TLS hello, and the port speaks plain RESP");
      state_ = data[0] == '*' ? State::kCount : State::kInline;
      position_ = data[0] == '*' ? 1 : 0;
      return true;
    case State::kCount:
      return take_count(data);
    case State::kLength:
      return take_length(data);
    case State::kBytes:
      return take_bytes(data);
    case State::kInline:
      return take_inline(data);
    case State::kComplete:
    case State::kError:
      return false;
  }
  return false;
}

// Reads up to CRLF. False: not all there yet, or no number (state kError).
bool CommandParser::take_number(std::string_view data, std::string_view& digits) {
  const std::size_t limit = std::min(data.size(), position_ + kMaxNumber + 1);
  std::size_t end = position_;
  while (end < limit && ((data[end] >= '0' && data[end] <= '9') || data[end] == '-')) ++end;
  if (end - position_ > kMaxNumber) return fail("number too long");
  if (end == data.size()) return false;
  if (data[end] != '\r') return fail("expected a number and CR LF");
  if (end + 1 == data.size()) return false;
  if (data[end + 1] != '\n') return fail("expected LF after CR");
  digits = data.substr(position_, end - position_);
  position_ = end + 2;
  return true;
}

bool CommandParser::take_count(std::string_view data) {
  std::string_view digits;
  if (!take_number(data, digits)) return false;
  if (digits == "-1") {
    state_ = State::kComplete;
    return false;
  }
  const auto count = parse_length(digits, limits_.max_arguments);
  if (!count) return fail("invalid multibulk length");
  remaining_ = static_cast<std::uint32_t>(*count);
  if (remaining_ == 0) {
    state_ = State::kComplete;
    return false;
  }
  state_ = State::kLength;
  return true;
}

bool CommandParser::take_length(std::string_view data) {
  if (position_ == data.size()) return false;
  if (data[position_] != '$') return fail("expected '$' before an argument");
  const std::size_t before = position_++;
  std::string_view digits;
  if (!take_number(data, digits)) {
    position_ = before;
    return false;
  }
  const auto length = parse_length(digits, limits_.max_argument_bytes);
  if (!length) return fail("invalid bulk length");
  if (position_ + *length + 2 > limits_.max_command_bytes) return fail("command too long");
  length_ = static_cast<std::uint32_t>(*length);
  state_ = State::kBytes;
  return true;
}

bool CommandParser::take_bytes(std::string_view data) {
  const std::size_t end = position_ + length_;
  if (data.size() < end + 2) {
    if (data.size() == end + 1 && data[end] != '\r') return fail("bulk is longer than it said");
    return false;
  }
  if (data[end] != '\r' || data[end + 1] != '\n') return fail("bulk is longer than it said");
  ranges_.push_back(Range{static_cast<std::uint32_t>(position_), length_});
  position_ = end + 2;
  state_ = State::kLength;
  if (ranges_.size() < remaining_) return true;
  complete(data);
  return false;
}

bool CommandParser::take_inline(std::string_view data) {
  const std::size_t end = data.find('\n', position_);
  const std::size_t length = end == std::string_view::npos ? data.size() : end;
  if (length > limits_.max_inline_bytes) return fail("inline command too long");
  if (end == std::string_view::npos) {
    position_ = data.size();
    return false;
  }
  std::string_view line = data.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!split_words(line)) return false;
  position_ = end + 1;
  complete(words_);
  if (arguments_.empty()) return false;
  if (equals_ignore_case(arguments_[0], "POST") || equals_ignore_case(arguments_[0], "HOST:") ||
      arguments_.back().starts_with("HTTP/1.")) {
    return fail("this is HTTP, and the port speaks RESP");
  }
  return false;
}

bool CommandParser::split_words(std::string_view line) {
  std::size_t i = 0;
  while (true) {
    while (i < line.size() && is_blank(line[i])) ++i;
    if (i == line.size()) return true;
    if (ranges_.size() == limits_.max_arguments) return fail("too many arguments");
    const auto offset = static_cast<std::uint32_t>(words_.size());
    if (!unquote(line, i)) return false;
    ranges_.push_back(Range{offset, static_cast<std::uint32_t>(words_.size()) - offset});
  }
}

// Appends the word at line[i] to words_, and moves i behind it.
bool CommandParser::unquote(std::string_view line, std::size_t& i) {
  char quote = 0;
  for (; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0) {
      if (is_blank(c)) return true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("control byte in an inline command");
      if (c == '"' || c == '\'') {
        quote = c;
      } else {
        words_ += c;
      }
    } else if (c == quote) {
      if (i + 1 < line.size() && !is_blank(line[i + 1])) return fail("unbalanced quotes");
      quote = 0;
    } else if (c == '\\' && i + 1 < line.size() && (quote == '"' || line[i + 1] == '\'')) {
      words_ += take_escape(line, ++i);
      --i;
    } else {
      words_ += c;
    }
  }
  return quote == 0 ? true : fail("unbalanced quotes");
}

void CommandParser::complete(std::string_view bytes) {
  arguments_.clear();
  for (const Range& range : ranges_) {
    arguments_.push_back(bytes.substr(range.offset, range.length));
  }
  state_ = State::kComplete;
}

bool CommandParser::fail(std::string_view message) {
  state_ = State::kError;
  error_ = message;
  return false;
}

}  // namespace weir::resp
