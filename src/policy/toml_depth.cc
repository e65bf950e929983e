#include "policy/toml_depth.h"

#include <algorithm>
#include <vector>

#include "policy/document.h"

namespace weir::policy {
namespace {

// Behind the string that begins at `at`. One that never ends, or not in its line, is toml++'s to
// refuse.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = quote == '"' ? R"(""")" : "'''";
  const bool lines = text.substr(at).starts_with(three);
  for (at += lines ? 3 : 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (lines && text.substr(at).starts_with(three)) {
      const std::size_t after = std::min(text.find_first_not_of(quote, at), text.size());
      return std::min(after, at + 5);  // two quotes may stand before the three
    } else if (!lines && (text[at] == quote || text[at] == '\n')) {
      return text[at] == quote ? at + 1 : at;
    }
  }
  return text.size();
}

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  std::optional<std::size_t> run() {
    while (at_ < text_.size()) {
      const std::size_t here = at_;
      take(text_[at_]);
      if (outside_ + parts_ > kDeepest) return here;
    }
    return std::nullopt;
  }

 private:
  struct Open {
    std::size_t outside;
    bool list;
  };

  void take(char c) {
    if (c == '"' || c == '\'') {
      at_ = end_of_string(text_, at_);
      return;
    }
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    ++at_;
    if (c == '.' && !in_value_) ++parts_;
    if (c == '=') in_value_ = true;
    if (c == '{' || (c == '[' && in_value_)) open(c == '[');
    if ((c == '}' || c == ']') && !open_.empty()) close();
    if (c == ',' || (c == '\n' && open_.empty())) begin_item();
  }

  void open(bool list) {
    open_.push_back({outside_, list});
    outside_ += parts_;
    begin_item();
  }
  void close() {
    outside_ = open_.back().outside;
    open_.pop_back();
    begin_item();
  }
  void begin_item() {
    parts_ = 1;
    in_value_ = !open_.empty() && open_.back().list;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Open> open_;   // lists and inline tables, no more than kDeepest
  std::size_t outside_ = 0;  // how deep the innermost of them stands
  std::size_t parts_ = 1;    // of the key; 1 of a list's item
  bool in_value_ = false;
};

}  // namespace

std::optional<std::size_t> find_too_deep_toml(std::string_view text) {
  return Scan(text).run();
}

}  // namespace weir::policy
