#include "engine/match_index.h"

#include <algorithm>
#include <utility>

namespace weir::engine {
namespace {

using Kind = policy::Attribute::Kind;
using policy::Condition;
using policy::Pattern;
using policy::take_segment;

bool all_of_kind(const Pattern& pattern, std::initializer_list<Pattern::Kind> kinds) {
  const auto& alternatives = pattern.alternatives();
  return std::all_of(alternatives.begin(), alternatives.end(), [&](const auto& alternative) {
    return std::find(kinds.begin(), kinds.end(), alternative.kind) != kinds.end();
  });
}

// How well a condition narrows the entries down; 0: it cannot be filed under.
int usefulness(const Condition& condition) {
  if (condition.pattern.list() != nullptr) return 0;
  switch (condition.attribute.kind) {
    case Kind::kPath:
      return all_of_kind(condition.pattern, {Pattern::Kind::kExact, Pattern::Kind::kPath}) ? 3 : 0;
    case Kind::kIp:
      return 0;
    case Kind::kMethod:
      return all_of_kind(condition.pattern, {Pattern::Kind::kExact}) ? 1 : 0;
    default:
      return all_of_kind(condition.pattern, {Pattern::Kind::kExact}) ? 2 : 0;
  }
}

}  // namespace

struct PathTrie::Node {
  StringMap<std::unique_ptr<Node>> literal;
  std::vector<std::pair<std::string, std::unique_ptr<Node>>> wild;  // "*", "v*", in file order
  std::vector<EntryId> here;                                        // patterns that end here
  std::vector<EntryId> below;                                       // patterns that end in /**

  Node& child(std::string_view segment) {
    if (segment.find('*') == std::string_view::npos) {
      auto& node = literal[std::string(segment)];
      if (!node) node = std::make_unique<Node>();
      return *node;
    }
    for (auto& [text, node] : wild) {
      if (text == segment) return *node;
    }
    return *wild.emplace_back(std::string(segment), std::make_unique<Node>()).second;
  }

  void find(std::string_view path, std::vector<EntryId>& out) const {
    out.insert(out.end(), below.begin(), below.end());
    if (path.empty()) {
      out.insert(out.end(), here.begin(), here.end());
      return;
    }
    const std::string_view segment = take_segment(path);
    if (const auto found = literal.find(segment); found != literal.end()) {
      found->second->find(path, out);
    }
    for (const auto& [text, node] : wild) {
      const bool whole = text == "*";
      if (whole ? !segment.empty() : policy::matches_wildcard(text, segment)) {
        node->find(path, out);
      }
    }
  }
};

PathTrie::PathTrie() : root_(std::make_unique<Node>()) {}
PathTrie::~PathTrie() = default;
PathTrie::PathTrie(PathTrie&&) noexcept = default;
PathTrie& PathTrie::operator=(PathTrie&&) noexcept = default;

void PathTrie::add(const Pattern::Alternative& alternative, EntryId id) {
  Node* node = root_.get();
  std::string_view rest = alternative.form;
  while (!rest.empty()) {
    const std::string_view segment = take_segment(rest);
    if (segment == "**") {
      node->below.push_back(id);
      return;
    }
    node = &node->child(segment);
  }
  node->here.push_back(id);
}

void PathTrie::find(std::string_view path, std::vector<EntryId>& out) const {
  if (!path.empty() && path[0] == '/') root_->find(path, out);
}

bool PathTrie::empty() const {
  return root_->literal.empty() && root_->wild.empty() && root_->below.empty();
}

void MatchIndex::add(const Matcher& matcher) {
  const EntryId id = size_++;
  const Condition* best = nullptr;
  int best_use = 0;
  for (const Condition& condition : matcher.conditions()) {
    const int use = usefulness(condition);
    if (use > best_use) {
      best = &condition;
      best_use = use;
    }
  }
  if (best == nullptr) {
    always_.push_back(id);
    return;
  }
  for (const Pattern::Alternative& alternative : best->pattern.alternatives()) {
    if (best->attribute.kind == Kind::kPath) {
      paths_.add(alternative, id);
    } else {
      table_of(best->attribute).entries[alternative.form].push_back(id);
    }
  }
}

MatchIndex::ExactTable& MatchIndex::table_of(const policy::Attribute& attribute) {
  for (ExactTable& table : exact_) {
    if (table.attribute == attribute) return table;
  }
  return exact_.emplace_back(ExactTable{attribute, {}});
}

void MatchIndex::find(RequestView& request, std::vector<EntryId>& out) const {
  const std::size_t begin = out.size();
  out.insert(out.end(), always_.begin(), always_.end());
  const auto look_up = [&out](const ExactTable& table, std::string_view value) {
    const auto found = table.entries.find(value);
    if (found == table.entries.end()) return;
    out.insert(out.end(), found->second.begin(), found->second.end());
  };
  for (const ExactTable& table : exact_) {
    const bool method = table.attribute.kind == Kind::kMethod;
    const auto value = method ? request.method() : request.find(table.attribute);
    if (!value) continue;
    look_up(table, *value);
    if (method && *value == "HEAD") look_up(table, "GET");
  }
  find_paths(request, out);
  if (out.size() - begin == always_.size()) return;
  std::sort(out.begin() + begin, out.end());
  out.erase(std::unique(out.begin() + begin, out.end()), out.end());
}

void MatchIndex::find_paths(RequestView& request, std::vector<EntryId>& out) const {
  if (paths_.empty()) return;
  if (const auto path = request.path()) paths_.find(*path, out);
  if (const auto& decoded = request.path_with_slashes()) paths_.find(*decoded, out);
}

}  // namespace weir::engine
