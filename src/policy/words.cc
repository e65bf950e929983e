#include "policy/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "base/letters.h"

namespace weir::policy {
namespace {

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kLongestQuote = 60;

// Lower case, `-` as `_`: spellings that a person does not see as different.
std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    c = c == '-' ? '_' : to_lower(c);
  }
  return out;
}

// Optimal string alignment distance. REQUIRES: both at most kLongestWord bytes.
std::size_t distance(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kLongestWord + 1>;
  Row before_last{};
  Row last{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::string wrong = folded(word);
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    const std::string right = folded(candidate);
    const std::size_t d = distance(wrong, right);
    // WHY the second test: with one letter of two wrong, every short word is near every other.
    if (d < best_distance && d < candidate.size()) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string join_words(std::span<const std::string_view> words, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " " + std::string(last) + " " : ", ";
    out += words[i];
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "'";
  std::size_t end = std::min(text.size(), kLongestQuote);
  // Never in the middle of a UTF-8 character.
  while (end < text.size() && end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  for (char c : text.substr(0, end)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    out += control ? '?' : c;
  }
  if (end < text.size()) out += "...";
  return out + "'";
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  });
}

}  // namespace weir::policy
