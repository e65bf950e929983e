#include "policy/body_template.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/text_file.h"
#include "base/trim.h"
#include "base/utf8.h"
#include "policy/words.h"

namespace weir::policy {
namespace {

using Values = BodyTemplate::Values;
using Text = std::string_view;
using Number = std::optional<std::uint64_t>;
using Value = std::variant<Text, Number>;

struct Placeholder {
  std::string_view name;
  Value (*of)(const Values& values);
};

constexpr std::array kPlaceholders{
    Placeholder{
        "status",
        [](const Values& v) -> Value { return Number(static_cast<std::uint64_t>(v.status)); }},
    Placeholder{"code", [](const Values& v) -> Value { return v.code; }},
    Placeholder{"message", [](const Values& v) -> Value { return v.message; }},
    Placeholder{"limit", [](const Values& v) -> Value { return v.limit; }},
    Placeholder{"reason", [](const Values& v) -> Value { return v.reason; }},
    Placeholder{"retry_after", [](const Values& v) -> Value { return v.retry_after; }},
    Placeholder{"quota", [](const Values& v) -> Value { return v.quota; }},
    Placeholder{"remaining", [](const Values& v) -> Value { return v.remaining; }},
    Placeholder{"reset", [](const Values& v) -> Value { return v.reset; }},
};
constexpr std::size_t kNone = kPlaceholders.size();

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";

std::string names() {
  std::vector<std::string_view> all;
  for (const Placeholder& one : kPlaceholders) all.push_back(one.name);
  return join_words(all, "and");
}

Error at_line(std::string_view text, std::size_t byte, const std::string& what) {
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(byte), '\n');
  return {ErrorCode::kInvalid, "line " + std::to_string(line) + ": " + what};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_markup(std::string& out, std::string_view text) {
  constexpr std::array<std::pair<char, std::string_view>, 5> kEntities{
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}}};
  for (const char c : text) {
    const auto entity = std::find_if(kEntities.begin(), kEntities.end(),
                                     [c](const auto& one) { return one.first == c; });
    if (entity == kEntities.end()) {
      out += c;
    } else {
      out += entity->second;
    }
  }
}

}  // namespace

const BodyTemplate::Kind* BodyTemplate::kind_of(std::string_view name) {
  static constexpr std::array kKinds{
      Kind{".json", "application/json", Escape::kJson},
      Kind{".html", "text/html; charset=utf-8", Escape::kMarkup},
      Kind{".htm", "text/html; charset=utf-8", Escape::kMarkup},
      Kind{".xml", "application/xml", Escape::kMarkup},
      Kind{".txt", "text/plain; charset=utf-8", Escape::kNone},
  };
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                 [name](const Kind& one) { return name.ends_with(one.ending); });
  return kind == kKinds.end() ? nullptr : &*kind;
}

Result<BodyTemplate> BodyTemplate::parse(std::string_view name, std::string_view text) {
  const Kind* kind = kind_of(name);
  if (kind == nullptr) {
    return Error{
        ErrorCode::kInvalid,
        "does not say what it holds, wants a name that ends in .json, .html, .xml or .txt"};
  }
  if (!is_utf8(text)) return Error{ErrorCode::kInvalid, "is not UTF-8 text"};
  BodyTemplate made;
  made.content_type_ = kind->content_type;
  made.escape_ = kind->escape;
  if (Result<bool> read = made.read_pieces(text); !read) return read.error();
  if (Result<bool> right = made.check_json(); !right) return right.error();
  return made;
}

Result<std::shared_ptr<const BodyTemplate>> BodyTemplate::load(const std::string& file) {
  const auto told = [&file](const Error& error) {
    return Error{error.code, quote(file) + " " + error.message};
  };
  Result<TextFile> text = read_text_file(file, kMaxBytes);
  if (!text) return told(text.error());
  Result<BodyTemplate> made = parse(file, text->text);
  if (!made) return told(made.error());
  return std::make_shared<const BodyTemplate>(std::move(*made));
}

Result<bool> BodyTemplate::read_pieces(std::string_view text) {
  std::string literal;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = text.find(kOpen, at);
    literal += text.substr(at, open - at);
    if (open == std::string_view::npos) break;
    at = open + kOpen.size();
    if (!literal.empty() && literal.back() == '\\') {
      literal.back() = '{';
      literal += '{';
      continue;
    }
    const std::size_t close = text.find(kClose, at);
    if (close == std::string_view::npos) {
      return at_line(text, open, "{{ is not closed by }}; \\{{ is {{ itself");
    }
    const std::string_view name = trim(text.substr(at, close - at));
    const auto known = std::find_if(kPlaceholders.begin(), kPlaceholders.end(),
                                    [name](const Placeholder& one) { return one.name == name; });
    if (known == kPlaceholders.end()) {
      return at_line(
          text, open,
          quote(name) + " is no placeholder, there are " + names() + "; \\{{ is {{ itself");
    }
    pieces_.push_back(
        {std::exchange(literal, {}), static_cast<std::size_t>(known - kPlaceholders.begin())});
    at = close + kClose.size();
  }
  pieces_.push_back({std::move(literal), kNone});
  return true;
}

// Whether what comes of it is JSON, where every value is there and where none is.
Result<bool> BodyTemplate::check_json() const {
  if (escape_ != Escape::kJson) return true;
  Values full{429, "RATE_LIMITED", "too many requests", "a", "a", 1, 1, 1, 1};
  Values bare;
  bare.status = 429;
  for (const Values& values : {full, bare}) {
    std::string body;
    render(values, body);
    const auto parsed = parse_json(body);
    if (!parsed) {
      return Error{ErrorCode::kInvalid, "would not be JSON (" + parsed.error().message +
                                            "): texts want quotes, as in \"{{limit}}\", numbers "
                                            "none"};
    }
  }
  return true;
}

void BodyTemplate::append_text(std::string_view text, std::string& out) const {
  if (escape_ == Escape::kNone) {
    out += text;
  } else if (escape_ == Escape::kMarkup) {
    append_markup(out, text);
  } else {
    std::string quoted;
    append_json_string(quoted, text);
    out.append(quoted, 1, quoted.size() - 2);
  }
}

void BodyTemplate::append_number(std::optional<std::uint64_t> number, std::string& out) const {
  if (number) {
    out += std::to_string(*number);
  } else if (escape_ == Escape::kJson) {
    out += "null";
  }
}

void BodyTemplate::render(const Values& values, std::string& out) const {
  for (const Piece& piece : pieces_) {
    out += piece.literal;
    if (piece.value == kNone) continue;
    const Value value = kPlaceholders[piece.value].of(values);
    if (const auto* text = std::get_if<Text>(&value)) {
      append_text(*text, out);
    } else {
      append_number(std::get<Number>(value), out);
    }
  }
}

}  // namespace weir::policy
