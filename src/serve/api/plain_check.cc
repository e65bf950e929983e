#include "serve/api/plain_check.h"

#include <array>
#include <optional>

#include "wire/http1/scan.h"

namespace weir::api {
namespace {

namespace scan = http1::scan;

// What a string may hold here: printable ASCII but the quote and the backslash.
struct PlainText {
  static constexpr std::array<bool, 256> kPlain = [] {
    std::array<bool, 256> plain{};
    for (unsigned c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
  }();
  static bool belongs(char c) { return kPlain[static_cast<unsigned char>(c)]; }
  template <typename B>
  static auto suspects(const B& block) {
    return block.up_to(0x1f) | block.equal('"') | block.equal('\\') | block.equal(0x7f) |
           block.not_ascii();
  }
};

// Takes tokens off the front of a text; what is not there is not taken.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool take(char wanted) {
    if (at_ != end_ && *at_ == wanted) [[likely]] {
      ++at_;
      return true;
    }
    skip_space();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool at_end() {
    skip_space();
    return at_ == end_;
  }

  // A string of printable ASCII without escapes.
  std::optional<std::string_view> text() {
    if (!take('"')) return std::nullopt;
    const char* const begin = at_;
    const char* const at = scan::skip<PlainText>(begin, end_);
    if (at == end_ || *at != '"') return std::nullopt;
    at_ = at + 1;
    return std::string_view(begin, static_cast<std::size_t>(at - begin));
  }

  // A whole number of at most 18 digits, without sign, fraction or exponent.
  std::optional<std::uint64_t> count() {
    skip_space();
    const char* const begin = at_;
    std::uint64_t value = 0;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - begin < 18) {
      value = value * 10 + static_cast<std::uint64_t>(*at_++ - '0');
    }
    const auto digits = at_ - begin;
    if (digits == 0 || (digits > 1 && *begin == '0')) return std::nullopt;
    return value;
  }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  const char* at_;
  const char* end_;
};

// WHY an empty value is declined: of a user that is one, nothing is kept, and a second user would
// not be seen to stand twice.
bool read_attributes(Scanner& in, const policy::Policy& policy, SentAttributes& out) {
  if (!in.take('{')) return false;
  if (in.take('}')) return true;
  std::size_t count = 0;
  do {
    const auto name = in.text();
    if (!name || !in.take(':')) return false;
    const auto value = in.text();
    if (!value || value->empty() || ++count > kMaxAttributes) return false;
    if (out.add(*name, *value, policy)) return false;
  } while (in.take(','));
  return in.take('}');
}

}  // namespace

bool read_plain_check(std::string_view body, const policy::Policy& policy, CheckRequest& out) {
  Scanner in(body);
  if (!in.take('{')) return false;
  bool has_attributes = false;
  do {
    const auto name = in.text();
    if (!name || !in.take(':')) return false;
    if (*name == "attributes" && !has_attributes) {
      has_attributes = true;
      if (!read_attributes(in, policy, out.attributes)) return false;
    } else if (*name == "cost" && !out.cost) {
      out.cost = in.count();
      if (!out.cost) return false;
    } else {
      return false;
    }
  } while (in.take(','));
  return has_attributes && in.take('}') && in.at_end();
}

}  // namespace weir::api
