#include "policy/limit_flag.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "policy/sections.h"
#include "policy/warnings.h"

namespace weir::policy {
namespace {

constexpr std::string_view kGrammar = "RATE [burst N] [by KEY[,KEY]] [on [METHOD] PATH]";

struct Word {
  std::string_view text;
  std::size_t at = 0;  // byte of the flag
};

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::vector<Word> split_words(std::string_view flag) {
  std::vector<Word> out;
  std::size_t at = 0;
  while (at < flag.size()) {
    if (is_blank(flag[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < flag.size() && !is_blank(flag[end])) ++end;
    out.push_back({flag.substr(at, end - at), at});
    at = end;
  }
  return out;
}

bool is_clause(std::string_view word) {
  return word == "burst" || word == "by" || word == "on";
}

// Builds the mapping of one flag, and tells what is wrong with its words.
class FlagReader {
 public:
  FlagReader(const Source& source, Reader& reader)
      : source_(source), reader_(reader), words_(split_words(source.text())) {}

  NodePtr read(const std::string& name) {
    limit_ = node(Node::Kind::kMapping, 0);
    add("name", scalar({name, 0}), 0);
    add("algorithm", scalar({"token_bucket", 0}), 0);
    read_rate_words();
    while (next_ < words_.size()) read_clause();
    return limit_;
  }

 private:
  Position position(std::size_t byte) const { return {1, source_.column_of_byte(1, byte)}; }

  std::shared_ptr<Node> node(Node::Kind kind, std::size_t at) const {
    auto out = std::make_shared<Node>();
    out->kind = kind;
    out->at = position(at);
    return out;
  }

  NodePtr scalar(const Word& word) const {
    auto out = node(Node::Kind::kScalar, word.at);
    out->text = std::string(word.text);
    return out;
  }

  void add(std::string key, NodePtr value, std::size_t at) {
    if (limit_->find(key) != nullptr) {
      reader_.mistake(position(at), key_word(key) + " stands twice, keep one");
      return;
    }
    limit_->entries.push_back({std::move(key), position(at), std::move(value)});
  }

  static std::string key_word(const std::string& key) {
    if (key == "key") return "by";
    return key == "match" ? "on" : key;
  }

  // Everything up to the first clause, blanks included: "10 per 1m".
  void read_rate_words() {
    while (next_ < words_.size() && !is_clause(words_[next_].text)) ++next_;
    if (next_ == 0) {
      reader_.mistake(position(0), "there is no rate, wants " + std::string(kGrammar));
      return;
    }
    const Word& last = words_[next_ - 1];
    const std::size_t begin = words_[0].at;
    const std::string_view text = source_.text().substr(begin, last.at + last.text.size() - begin);
    add("rate", scalar({text, begin}), begin);
  }

  void read_clause() {
    const Word clause = words_[next_++];
    if (clause.text == "burst") {
      if (const Word* word = take(clause, "a number")) add("burst", scalar(*word), clause.at);
    } else if (clause.text == "by") {
      if (const Word* word = take(clause, "a KEY such as ip")) add_key(*word, clause.at);
    } else if (clause.text == "on") {
      read_on(clause);
    } else {
      reader_.mistake(position(clause.at),
                      quote(clause.text) + " is not expected here, wants " + std::string(kGrammar));
    }
  }

  // The word after `clause`, or nullptr after telling the mistake.
  const Word* take(const Word& clause, std::string_view wants) {
    if (next_ < words_.size() && !is_clause(words_[next_].text)) return &words_[next_++];
    reader_.mistake(
        position(clause.at),
        std::string(clause.text) + " is followed by nothing, wants " + std::string(wants));
    return nullptr;
  }

  void add_key(const Word& word, std::size_t at) {
    auto key = node(Node::Kind::kSequence, word.at);
    std::size_t begin = 0;
    while (begin <= word.text.size()) {
      const std::size_t end = std::min(word.text.find(',', begin), word.text.size());
      key->items.push_back(scalar({word.text.substr(begin, end - begin), word.at + begin}));
      begin = end + 1;
    }
    add("key", std::move(key), at);
  }

  static bool is_path(std::string_view word) {
    return word.starts_with('/') || word.starts_with('~') || word.starts_with('*');
  }

  void read_on(const Word& clause) {
    const Word* first = take(clause, "[METHOD] PATH");
    if (first == nullptr) return;
    auto match = node(Node::Kind::kMapping, first->at);
    const Word* path = first;
    if (!is_path(first->text)) {
      match->entries.push_back({"method", position(first->at), scalar(*first)});
      path = take(*first, "a PATH such as /login or /**");
      if (path == nullptr) return;
    }
    match->entries.push_back({"path", position(path->at), scalar(*path)});
    add("match", std::move(match), clause.at);
  }

  const Source& source_;
  Reader& reader_;
  std::vector<Word> words_;
  std::size_t next_ = 0;
  std::shared_ptr<Node> limit_;
};

// A flag has no lines: the text and the caret say where.
void move_into(std::vector<Diagnostic>& out, std::vector<Diagnostic> found) {
  for (Diagnostic& one : found) one.at = {};
  std::move(found.begin(), found.end(), std::back_inserter(out));
}

void parse_one(const std::string& flag, const std::string& name, const std::string& limit_name,
               LimitFlags& out) {
  std::string text = flag;
  std::replace(text.begin(), text.end(), '\n', ' ');
  Source source(name, std::move(text));
  Diagnostics mistakes(source);
  Diagnostics doubts(source);
  Reader reader(source, mistakes, doubts);

  auto list = std::make_shared<Node>();
  list->kind = Node::Kind::kSequence;
  list->items.push_back(FlagReader(source, reader).read(limit_name));
  auto root = std::make_shared<Node>();
  root->kind = Node::Kind::kMapping;
  root->entries.push_back({"limits", {1, 1}, std::move(list)});

  Policy policy;
  if (mistakes.count() == 0) {  // a half-read limit would only repeat them
    read_limits(reader, root->entries[0], policy);
    warn(reader, *root, policy, false);
  }
  move_into(out.mistakes, mistakes.take());
  move_into(out.warnings, doubts.take());
  std::move(policy.limits.begin(), policy.limits.end(), std::back_inserter(out.limits));
}

}  // namespace

LimitFlags parse_limit_flags(std::span<const std::string> flags) {
  LimitFlags out;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    parse_one(flags[i], flags.size() == 1 ? "--limit" : "--limit " + number, "limit" + number, out);
  }
  if (!out.mistakes.empty()) out.limits.clear();
  return out;
}

}  // namespace weir::policy
