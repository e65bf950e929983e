// Node: a policy file as a tree with positions, whatever language it was written in.
//
// Scalars keep their text; what a text means is decided by the key it stands under (scalar.h), by
// the rules of YAML 1.2: 010 is ten, yes is text. YAML and TOML become the same tree, so that
// nothing after the readers can tell them apart.
//
// THREADS: immutable once read.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.h"

namespace weir::policy {

struct Node;
// WHY shared: an alias is the node it names, not a copy, so that a file of aliases to aliases
// stays as small as it looks.
using NodePtr = std::shared_ptr<const Node>;

// `key: value` of a mapping. Also stands for an item of a list: `key` is then the list's.
struct Entry {
  std::string key;
  Position at;  // of the key
  NodePtr value;
};

struct Node {
  enum class Kind : std::uint8_t {
    kNull,
    kScalar,
    kSequence,
    kMapping,
    kFaulty,  // a mistake has been told already: nobody complains again
  };
  enum class Form : std::uint8_t {
    kPlain,     // YAML without quotes; TOML numbers and booleans
    kQuoted,    // text, whatever it looks like
    kExpanded,  // held a ${VARIABLE}: text or number, as its place wants
  };

  Kind kind = Kind::kNull;
  Form form = Form::kPlain;
  Position at;
  std::string text;     // of a scalar, variables expanded
  std::string written;  // of a scalar that held variables: before expansion, safe to print
  std::vector<NodePtr> items;
  std::vector<Entry> entries;  // in the order of the file
  std::size_t size = 1;        // nodes below and including this one, aliases counted each time

  // The first entry under `key`, or nullptr.
  const Entry* find(std::string_view key) const {
    for (const Entry& entry : entries) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }

  bool is_scalar() const { return kind == Kind::kScalar; }
  // The scalar for messages: variables by name, never their values.
  std::string_view shown() const { return form == Form::kExpanded ? written : text; }
};

}  // namespace weir::policy
