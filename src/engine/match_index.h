// MatchIndex: which of many entries may match a request, without asking each of them.
//
// An entry is filed under one of its conditions: an exact value in a hash table, a path in a trie
// of segments. Entries with neither (regular expressions, address blocks, no condition at all) are
// always candidates. A candidate must still be asked (Matcher::matches); what is no candidate
// cannot match.
//
// THREADS: immutable; any.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/matcher.h"
#include "engine/request_view.h"

namespace weir::engine {

using EntryId = std::uint32_t;

// Hash and equality that look std::string keys up by views.
struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

template <typename T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

// Path patterns by their segments.
class PathTrie {
 public:
  PathTrie();
  ~PathTrie();
  PathTrie(PathTrie&&) noexcept;
  PathTrie& operator=(PathTrie&&) noexcept;

  // REQUIRES: a kExact or kPath alternative of a prepared path pattern.
  void add(const policy::Pattern::Alternative& alternative, EntryId id);
  void find(std::string_view path, std::vector<EntryId>& out) const;
  bool empty() const;

 private:
  struct Node;
  std::unique_ptr<Node> root_;
};

class MatchIndex {
 public:
  // Files `matcher` under the next id: 0, 1, ...
  void add(const Matcher& matcher);

  // The candidates in ascending order, each once.
  void find(RequestView& request, std::vector<EntryId>& out) const;

 private:
  struct ExactTable {
    policy::Attribute attribute;
    StringMap<std::vector<EntryId>> entries;
  };

  ExactTable& table_of(const policy::Attribute& attribute);
  void find_paths(RequestView& request, std::vector<EntryId>& out) const;

  EntryId size_ = 0;
  std::vector<EntryId> always_;
  std::vector<ExactTable> exact_;
  PathTrie paths_;
};

}  // namespace weir::engine
