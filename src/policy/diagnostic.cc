#include "policy/diagnostic.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "policy/mask.h"

namespace weir::policy {
namespace {

constexpr std::size_t kWidest = 140;   // characters of a printed line
constexpr std::uint32_t kMargin = 60;  // of them kept before the caret when a line is cut

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// The byte at which character `count` (from 0) of `text` starts, or its end.
std::size_t byte_of_character(std::string_view text, std::size_t count) {
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (continues_character(text[i])) continue;
    if (count == 0) break;
    --count;
  }
  return i;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

// Nothing that moves a terminal's cursor or is no character.
void make_printable(std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = utf8_length(std::string_view(text).substr(at));
    const bool control = (byte < 0x20 && byte != '\t') || byte == 0x7F;
    if (control || length == 0) text[at] = '?';
    at += length == 0 ? 1 : length;
  }
}

}  // namespace

std::string Diagnostic::to_line() const {
  std::string out = file + ":";
  if (at.line > 0) out += std::to_string(at.line) + ":" + std::to_string(at.column) + ":";
  return out + " " + message;
}

std::string Diagnostic::to_string() const {
  std::string out = to_line() + "\n";
  if (!source.empty()) {
    out += "    " + source + "\n    ";
    // Tabs stay tabs, so that the caret stands below its character at any tab width.
    const std::size_t end = byte_of_character(source, caret);
    for (char c : source.substr(0, end)) {
      if (!continues_character(c)) out += c == '\t' ? '\t' : ' ';
    }
    out += "^\n";
  }
  if (!help.empty()) out += help + "\n";
  return out;
}

Source::Source(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines_.push_back(line);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
}

std::string_view Source::line(std::uint32_t number) const {
  return number == 0 || number > lines_.size() ? std::string_view() : lines_[number - 1];
}

std::uint32_t Source::column_of_byte(std::uint32_t number, std::size_t byte) const {
  return static_cast<std::uint32_t>(characters_in(line(number).substr(0, byte))) + 1;
}

std::size_t Source::byte_of_column(std::uint32_t number, std::uint32_t column) const {
  return byte_of_character(line(number), column == 0 ? 0 : column - 1);
}

bool Source::has_text_at(Position at, std::string_view text) const {
  const std::string_view whole = line(at.line);
  const std::size_t byte = byte_of_column(at.line, at.column);
  return whole.substr(byte).starts_with(text);
}

void Source::hide(Position from, std::size_t bytes) {
  hidden_.push_back({from.line, byte_of_column(from.line, from.column), bytes});
}

std::string Source::printable(Position at, std::uint32_t& caret) const {
  std::string text(line(at.line));
  caret = at.column == 0 ? 0 : at.column - 1;
  for (const Hidden& hidden : hidden_) {
    if (hidden.line != at.line) continue;
    for (std::size_t i = 0; i < hidden.size && hidden.byte + i < text.size(); ++i) {
      text[hidden.byte + i] = '*';
    }
  }
  mask_secrets(text);
  make_printable(text);
  if (characters_in(text) <= kWidest) return text;
  const std::uint32_t skipped = caret > kMargin ? caret - kMargin : 0;
  const std::size_t begin = byte_of_character(text, skipped);
  std::string cut = text.substr(begin);
  const bool more = characters_in(cut) > kWidest;
  cut.resize(byte_of_character(cut, kWidest));
  if (skipped > 0) cut = "..." + cut;
  caret = caret - skipped + (skipped > 0 ? 3 : 0);
  return more ? cut + "..." : cut;
}

void Source::redact(const std::string& value, std::string shown) {
  constexpr std::size_t kShortest = 4;  // WHY: "5" stands in half of all messages by itself
  if (value.size() >= kShortest) redactions_.try_emplace(value, std::move(shown));
}

std::string Source::redacted(std::string message) const {
  for (const auto& [value, shown] : redactions_) {
    std::size_t at = 0;
    while ((at = message.find(value, at)) != std::string::npos) {
      message.replace(at, value.size(), shown);
      at += shown.size();
    }
  }
  return message;
}

void Diagnostics::add(Position at, std::string message, std::string help) {
  if (found_.size() >= kMax) {
    ++dropped_;
    return;
  }
  found_.push_back({at, std::move(message), std::move(help)});
}

std::vector<Diagnostic> Diagnostics::take() {
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Found& a, const Found& b) { return a.at < b.at; });
  const auto same = [](const Found& a, const Found& b) {
    return a.at == b.at && a.message == b.message;
  };
  found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
  std::vector<Diagnostic> out;
  for (Found& found : found_) {
    std::string message = source_.redacted(std::move(found.message));
    make_printable(message);
    Diagnostic d{source_.name(), found.at, std::move(message), std::move(found.help), "", 0};
    if (d.at.line > 0) d.source = source_.printable(d.at, d.caret);
    out.push_back(std::move(d));
  }
  if (dropped_ > 0) {
    out.push_back(
        {source_.name(), {}, std::to_string(dropped_) + " more mistakes not shown", "", "", 0});
  }
  found_.clear();
  dropped_ = 0;
  return out;
}

}  // namespace weir::policy
