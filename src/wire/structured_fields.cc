#include "wire/structured_fields.h"

#include <algorithm>
#include <charconv>

#include "base/hex.h"
#include "wire/http1/characters.h"
#include "wire/websocket/utf8.h"

namespace weir::structured_fields {

namespace {

using http1::is;

constexpr std::size_t kMaxItems = 1024;
constexpr std::size_t kMaxParameters = 256;  // of one item
constexpr std::size_t kMaxIntegerDigits = 15;
constexpr std::size_t kMaxDecimalDigits = 12;  // before the point; at most three after it

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_printable(char c) {
  return c >= 0x20 && c <= 0x7e;
}

bool is_key_char(char c) {
  return is_lower(c) || is(c, http1::kDigit) || c == '_' || c == '-' || c == '.' || c == '*';
}

// Each function takes what it names off the front, or says that it does not stand there.
class Parser {
 public:
  explicit Parser(std::string_view field) : rest_(field) {}

  std::optional<std::vector<Item>> list();

 private:
  bool item(Item& out);
  bool parameters(std::vector<Parameter>& out);
  bool key(std::string& out);
  bool value(Value& out);
  bool number(Value& out);
  bool digits_of_number(std::string_view digits, bool negative, Value& out);
  bool string(Value& out);
  bool token(Value& out);
  bool byte_sequence(Value& out);
  bool boolean(Value& out);
  bool date(Value& out);
  bool display_string(Value& out);

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  void skip_blanks() {
    while (take(' ')) {
    }
  }
  void skip_optional_whitespace() {
    while (take(' ') || take('\t')) {
    }
  }

  std::string_view rest_;
};

std::optional<std::vector<Item>> Parser::list() {
  std::vector<Item> items;
  skip_blanks();
  while (!rest_.empty()) {
    if (items.size() == kMaxItems) return std::nullopt;
    if (!item(items.emplace_back())) return std::nullopt;
    skip_optional_whitespace();
    if (rest_.empty()) return items;
    if (!take(',')) return std::nullopt;
    skip_optional_whitespace();
    if (rest_.empty()) return std::nullopt;  // a comma at the end
  }
  return items;
}

bool Parser::item(Item& out) {
  return value(out.value) && parameters(out.parameters);
}

bool Parser::parameters(std::vector<Parameter>& out) {
  while (take(';')) {
    skip_blanks();
    Parameter parameter;
    if (!key(parameter.key)) return false;
    if (take('=') && !value(parameter.value)) return false;
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&](const Parameter& p) { return p.key == parameter.key; });
    if (same != out.end()) {
      same->value = std::move(parameter.value);
      continue;
    }
    if (out.size() == kMaxParameters) return false;
    out.push_back(std::move(parameter));
  }
  return true;
}

bool Parser::key(std::string& out) {
  if (!is_lower(peek()) && peek() != '*') return false;
  while (!rest_.empty() && is_key_char(peek())) {
    out.push_back(peek());
    rest_.remove_prefix(1);
  }
  return true;
}

bool Parser::value(Value& out) {
  switch (peek()) {
    case '"':
      return string(out);
    case ':':
      return byte_sequence(out);
    case '?':
      return boolean(out);
    case '@':
      return date(out);
    case '%':
      return display_string(out);
    case '-':
      return number(out);
    default:
      return is(peek(), http1::kDigit) ? number(out) : token(out);
  }
}

bool Parser::number(Value& out) {
  const std::string_view begin = rest_;
  const bool negative = take('-');
  std::size_t size = 0;
  while (size < rest_.size() && (is(rest_[size], http1::kDigit) || rest_[size] == '.')) ++size;
  const std::string_view digits = rest_.substr(0, size);
  rest_.remove_prefix(size);
  if (digits.find('.') == std::string_view::npos) return digits_of_number(digits, negative, out);

  const std::size_t point = digits.find('.');
  const std::string_view fraction = digits.substr(point + 1);
  if (point == 0 || point > kMaxDecimalDigits) return false;
  if (fraction.empty() || fraction.size() > 3 || fraction.find('.') != std::string_view::npos) {
    return false;
  }
  out.kind = Value::Kind::kDecimal;
  out.text = begin.substr(0, digits.size() + (negative ? 1 : 0));
  return true;
}

bool Parser::digits_of_number(std::string_view digits, bool negative, Value& out) {
  if (digits.empty() || digits.size() > kMaxIntegerDigits) return false;
  std::from_chars(digits.data(), digits.data() + digits.size(), out.integer);
  if (negative) out.integer = -out.integer;
  out.kind = Value::Kind::kInteger;
  return true;
}

bool Parser::string(Value& out) {
  out.kind = Value::Kind::kString;
  take('"');
  while (!rest_.empty()) {
    char c = peek();
    rest_.remove_prefix(1);
    if (c == '"') return true;
    if (c == '\\') {
      c = peek();
      if (!take('"') && !take('\\')) return false;
    }
    if (!is_printable(c)) return false;
    out.text.push_back(c);
  }
  return false;
}

bool Parser::token(Value& out) {
  if (!http1::detail::is_letter(peek()) && peek() != '*') return false;
  std::size_t size = 0;
  const auto fits = [](char c) { return is(c, http1::kTokenChar) || c == ':' || c == '/'; };
  while (size < rest_.size() && fits(rest_[size])) ++size;
  out.kind = Value::Kind::kToken;
  out.text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool Parser::byte_sequence(Value& out) {
  take(':');
  const std::size_t end = rest_.find(':');
  if (end == std::string_view::npos) return false;
  const std::string_view text = rest_.substr(0, end);
  const std::size_t padding = std::min(text.find('='), text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool digit = http1::detail::is_letter(c) || is(c, http1::kDigit) || c == '+' || c == '/';
    if (i < padding ? !digit : c != '=') return false;
  }
  if (text.size() - padding > 2) return false;
  out.kind = Value::Kind::kByteSequence;
  out.text = text;
  rest_.remove_prefix(end + 1);
  return true;
}

bool Parser::boolean(Value& out) {
  take('?');
  out.kind = Value::Kind::kBoolean;
  out.integer = peek() == '1' ? 1 : 0;
  return take('0') || take('1');
}

bool Parser::date(Value& out) {
  take('@');
  if (!number(out) || out.kind != Value::Kind::kInteger) return false;
  out.kind = Value::Kind::kDate;
  return true;
}

bool Parser::display_string(Value& out) {
  take('%');
  if (!take('"')) return false;
  const auto is_lower_hex = [](char c) { return is(c, http1::kDigit) || (c >= 'a' && c <= 'f'); };
  while (!rest_.empty() && is_printable(peek())) {
    const char c = peek();
    rest_.remove_prefix(1);
    if (c == '"') {
      out.kind = Value::Kind::kDisplayString;
      return websocket::is_utf8(out.text);
    }
    if (c != '%') {
      out.text.push_back(c);
      continue;
    }
    if (rest_.size() < 2 || !is_lower_hex(rest_[0]) || !is_lower_hex(rest_[1])) return false;
    out.text.push_back(static_cast<char>(hex_byte(rest_, 0)));
    rest_.remove_prefix(2);
  }
  return false;
}

}  // namespace

const Value* Item::find(std::string_view key) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.key == key) return &parameter.value;
  }
  return nullptr;
}

std::optional<std::vector<Item>> parse_list(std::string_view field) {
  return Parser(field).list();
}

}  // namespace weir::structured_fields
