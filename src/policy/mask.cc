#include "policy/mask.h"

#include <algorithm>
#include <string_view>

namespace weir::policy {
namespace {

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::size_t skip_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
  return at;
}

void fill(std::string& line, std::size_t begin, std::size_t end) {
  std::fill(line.begin() + static_cast<std::ptrdiff_t>(begin),
            line.begin() + static_cast<std::ptrdiff_t>(end), '*');
}

// Hides the value at `at`: to its closing quote, or to what ends a plain one.
void mask_value(std::string& line, std::size_t at) {
  if (at >= line.size()) return;
  const bool quoted = line[at] == '"' || line[at] == '\'';
  const std::size_t begin = quoted ? at + 1 : at;
  const std::size_t end = quoted ? line.find(line[at], begin) : line.find_first_of(",}", begin);
  fill(line, begin, std::min(end, line.size()));
}

void mask_key(std::string& line, std::string_view key) {
  std::size_t at = 0;
  while ((at = line.find(key, at)) != std::string::npos) {
    const bool starts_word = at == 0 || !is_word_byte(line[at - 1]);
    at += key.size();
    std::size_t after = at;
    if (after < line.size() && (line[after] == '"' || line[after] == '\'')) ++after;
    after = skip_blanks(line, after);
    const bool is_key = after < line.size() && (line[after] == ':' || line[after] == '=');
    if (starts_word && is_key) mask_value(line, skip_blanks(line, after + 1));
  }
}

// scheme://USER:PASSWORD@host
void mask_urls(std::string& line) {
  std::size_t at = 0;
  while ((at = line.find("://", at)) != std::string::npos) {
    at += 3;
    const std::size_t end = std::min(line.find_first_of(" \t\"'/,", at), line.size());
    const std::size_t sign = line.rfind('@', end);
    if (sign != std::string::npos && sign >= at) fill(line, at, sign);
  }
}

}  // namespace

void mask_secrets(std::string& line) {
  mask_key(line, "token");
  mask_key(line, "password");
  mask_urls(line);
}

}  // namespace weir::policy
