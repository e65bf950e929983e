#include "wire/resp/reply.h"

#include <algorithm>

namespace weir::resp {

std::optional<std::int64_t> Reply::as_integer() const {
  if (is(Type::kInteger)) return integer();
  if (is_text()) return parse_integer(text());
  return std::nullopt;
}

Reply Reply::at(std::size_t i) const {
  Reply value = first();
  for (; value.valid() && i > 0; --i) value = value.next();
  return value;
}

Reply Reply::find(std::string_view name) const {
  Reply key = first();
  while (key.valid()) {
    const Reply value = key.next();
    if (!value.valid() || (key.is_text() && key.text() == name)) return value;
    key = value.next();
  }
  return key;
}

Progress ReplyParser::parse(std::string_view data) {
  if (complete_) reset();
  if (failed_) return Progress::kError;
  data_ = data;
  do {
    if (!take_value(data)) return failed_ ? Progress::kError : Progress::kNeedMore;
    close_lists();
  } while (depth_ > 0 || nodes_.empty());
  complete_ = true;
  return Progress::kComplete;
}

void ReplyParser::reset() {
  nodes_.clear();
  depth_ = 0;
  position_ = 0;
  scanned_ = 0;
  complete_ = false;
}

bool ReplyParser::take_value(std::string_view data) {
  const std::size_t start = position_;
  if (start == data.size()) return false;
  const char type = data[start];
  std::string_view line;
  if (!take_line(data, line)) return false;
  switch (type) {
    case '+':
    case '-':
    case ':':
    case '_':
    case '#':
    case ',':
    case '(':
      return take_scalar(type, line, start + 1);
    case '$':
    case '!':
    case '=':
      return take_bulk(type, line, data, start);
    case '*':
    case '~':
    case '>':
    case '%':
    case '|':
      return take_list(type, line);
    default:
      return fail("a byte that begins no RESP value");
  }
}

// Reads the type byte and up to CRLF; `line` is what stands between them.
bool ReplyParser::take_line(std::string_view data, std::string_view& line) {
  static constexpr std::string_view kTypes = "+-:_#,($!=*~>%|";
  if (kTypes.find(data[position_]) == std::string_view::npos) {
    return fail("a byte that begins no RESP value");
  }
  const std::size_t from = std::max(scanned_, position_ + 1);
  const std::size_t end = data.find('\n', from);
  const std::size_t length = (end == std::string_view::npos ? data.size() : end) - position_;
  if (length > limits_.max_line) return fail("a line is too long");
  if (end == std::string_view::npos) {
    scanned_ = data.size();
    return false;
  }
  if (data[end - 1] != '\r' || end - 1 == position_) return fail("a line ends without CR LF");
  line = data.substr(position_ + 1, end - position_ - 2);
  position_ = end + 1;
  return true;
}

bool ReplyParser::take_scalar(char type, std::string_view line, std::size_t offset) {
  Node node;
  node.offset = static_cast<std::uint32_t>(offset);
  node.length = static_cast<std::uint32_t>(line.size());
  switch (type) {
    case '+':
      node.type = Type::kSimple;
      break;
    case '-':
      node.type = Type::kError;
      break;
    case ':': {
      const auto value = parse_integer(line);
      if (!value) return fail("an integer that is none");
      node.type = Type::kInteger;
      node.integer = *value;
      break;
    }
    case '_':
      if (!line.empty()) return fail("a null with something in it");
      node.type = Type::kNull;
      break;
    case '#':
      if (line != "t" && line != "f") return fail("a boolean that is neither t nor f");
      node.type = Type::kBoolean;
      node.integer = line == "t" ? 1 : 0;
      break;
    default:
      node.type = type == ',' ? Type::kDouble : Type::kBigNumber;
      if (line.empty()) return fail("a number without digits");
  }
  return add(node);
}

bool ReplyParser::take_bulk(char type, std::string_view line, std::string_view data,
                            std::size_t start) {
  Node node;
  if (type == '$' && line == "-1") return add(node);
  const auto length = parse_length(line, limits_.max_bytes);
  if (!length || position_ + *length + 2 > limits_.max_bytes) return fail("invalid bulk length");
  const std::size_t end = position_ + *length;
  if (data.size() < end + 2) {
    scanned_ = position_ - 1;
    position_ = start;  // the header is short: reading it again costs nothing
    return false;
  }
  if (data[end] != '\r' || data[end + 1] != '\n') return fail("a bulk is longer than it said");
  node.type = type == '!' ? Type::kError : Type::kBulk;
  node.offset = static_cast<std::uint32_t>(position_);
  node.length = static_cast<std::uint32_t>(*length);
  if (type == '=') {  // "txt:" goes before the text
    if (*length < 4 || data[position_ + 3] != ':') return fail("a verbatim string without format");
    node.offset += 4;
    node.length -= 4;
  }
  position_ = end + 2;
  return add(node);
}

bool ReplyParser::take_list(char type, std::string_view line) {
  Node node;
  if (type == '*' && line == "-1") return add(node);
  const auto count = parse_length(line, limits_.max_nodes);
  if (!count) return fail("invalid number of elements");
  const bool pairs = type == '%' || type == '|';
  const auto values = static_cast<std::uint32_t>(pairs ? *count * 2 : *count);
  if (depth_ == kMaxDepth) return fail("nested too deep");
  if (type == '|') {
    open_[depth_++] = Open{static_cast<std::uint32_t>(nodes_.size()), values, true};
    return true;
  }
  switch (type) {
    case '~':
      node.type = Type::kSet;
      break;
    case '>':
      node.type = Type::kPush;
      break;
    case '%':
      node.type = Type::kMap;
      break;
    default:
      node.type = Type::kArray;
  }
  node.length = values;
  if (!add(node)) return false;
  open_[depth_++] = Open{static_cast<std::uint32_t>(nodes_.size() - 1), values, false};
  return true;
}

// Adds a node as the next value of the list that is open.
bool ReplyParser::add(Node node) {
  if (nodes_.size() == limits_.max_nodes) return fail("too many elements");
  if (position_ > limits_.max_bytes) return fail("too many bytes");
  if (depth_ > 0) --open_[depth_ - 1].remaining;
  nodes_.push_back(node);
  nodes_.back().end = static_cast<std::uint32_t>(nodes_.size());
  return true;
}

// Closes every list whose last value has come; what an attribute held is dropped.
void ReplyParser::close_lists() {
  while (depth_ > 0 && open_[depth_ - 1].remaining == 0) {
    const Open& list = open_[--depth_];
    if (list.attribute) {
      nodes_.resize(list.node);
    } else {
      nodes_[list.node].end = static_cast<std::uint32_t>(nodes_.size());
    }
  }
}

bool ReplyParser::fail(std::string_view message) {
  failed_ = true;
  error_ = message;
  return false;
}

}  // namespace weir::resp
