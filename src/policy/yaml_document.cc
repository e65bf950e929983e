// read_yaml() of document.h. yaml-cpp is named in this file alone.

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <unordered_map>
#include <utility>

#include "policy/document.h"
#include "policy/words.h"

namespace weir::policy {
namespace {

constexpr std::string_view kTextTag = "tag:yaml.org,2002:str";

Position position_of(const YAML::Mark& mark, const Source& source) {
  if (mark.is_null()) return {};
  const auto line = static_cast<std::uint32_t>(std::max(mark.line, 0)) + 1;
  return {line, source.column_of_byte(line, static_cast<std::size_t>(std::max(mark.column, 0)))};
}

// Where an empty item of a list is told: at its dash. WHY searched for: yaml-cpp tells the place of
// what follows it, lines below maybe. Nothing but blanks and comments stands between.
Position place_of_empty_item(const YAML::Mark& mark, const Source& source) {
  const Position behind = position_of(mark, source);
  for (std::uint32_t line = behind.line; line > 0; --line) {
    std::string_view text = source.line(line);
    if (line == behind.line) text = text.substr(0, source.byte_of_column(line, behind.column));
    const std::size_t last = text.substr(0, text.find('#')).find_last_not_of(" \t");
    if (last == text.npos) continue;
    return text[last] == '-' ? Position{line, source.column_of_byte(line, last)} : behind;
  }
  return behind;
}

// The commonest mistake that YAML's messages do not name.
std::string_view tab_hint(std::string_view line) {
  const std::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
  const bool tabs = indent.find('\t') != indent.npos;
  return tabs ? "YAML does not take tabs as indentation, use blanks; " : "";
}

// Reads from memory that somebody else keeps.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // read only: setg wants it so
    setg(begin, begin, begin + text.size());
  }
};

// Builds the tree from yaml-cpp's events. WHY events and not YAML::Node: its nodes hide duplicate
// keys and aliases, and forget whether a scalar had quotes.
class Builder : public YAML::EventHandler {
 public:
  Builder(const Source& source, const Environment& environment, Diagnostics& found)
      : source_(source), environment_(environment), found_(found) {}

  NodePtr take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    mark_ = mark;
    auto node = std::make_shared<Node>();
    const bool item = !open_.empty() && open_.back().node->kind == Node::Kind::kSequence;
    node->at = item ? place_of_empty_item(mark, source_) : position(mark);
    place(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    mark_ = mark;
    Node::Form form = Node::Form::kQuoted;
    if (tag == "?") {
      form = Node::Form::kPlain;
    } else if (tag != "!" && tag != kTextTag) {
      refuse_tag(mark, tag);
    }
    if (expects_key()) {  // variables are expanded in values only
      auto node = std::make_shared<Node>();
      node->kind = Node::Kind::kScalar;
      node->form = form;
      node->at = position(mark);
      node->text = value;
      place(std::move(node), anchor);
      return;
    }
    place(make_scalar(position(mark), value, form, environment_, source_, found_), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    mark_ = mark;
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) {
      throw YAML::ParserException(mark, "an alias inside of the value that it names");
    }
    place(it->second, YAML::NullAnchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kSequence, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMapping, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override {
    apply_merges(open_.back());
    close();
  }

 private:
  struct Open {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    NodePtr key;                                     // of a mapping: waiting for its value
    std::unordered_map<std::string, Position> seen;  // keys of a mapping
    std::vector<Entry> merges;                       // values of <<
  };

  Position position(const YAML::Mark& mark) const { return position_of(mark, source_); }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    found_.add(position(mark), "the tag " + quote(tag) + " is not known, leave it out");
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node->kind == Node::Kind::kMapping &&
           open_.back().key == nullptr;
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    mark_ = mark;
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(mark, tag);
    if (open_.size() >= kDeepest) {
      throw YAML::ParserException(mark, "more than 64 lists and mappings within each other");
    }
    Open frame;
    frame.node = std::make_shared<Node>();
    frame.node->kind = kind;
    frame.node->at = position(mark);
    frame.anchor = anchor;
    open_.push_back(std::move(frame));
  }

  void close() {
    Open frame = std::move(open_.back());
    open_.pop_back();
    place(std::move(frame.node), frame.anchor);
  }

  // Puts a finished node where it belongs: into what is open, or at the root.
  void place(NodePtr node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node->kind == Node::Kind::kMapping && parent.key == nullptr) {
      parent.key = std::move(node);
      return;
    }
    parent.node->size += node->size;
    if (parent.node->size > kMaxNodes) {
      throw YAML::ParserException(mark_, "aliases unfold this file to more than 4000000 values");
    }
    if (parent.node->kind == Node::Kind::kSequence) {
      parent.node->items.push_back(std::move(node));
      return;
    }
    place_entry(parent, std::move(node));
  }

  void place_entry(Open& parent, NodePtr value) {
    const NodePtr key = std::exchange(parent.key, nullptr);
    if (!key->is_scalar()) {
      found_.add(key->at.line > 0 ? key->at : parent.node->at,
                 "this key is not a word, wants `key: value`");
      return;
    }
    if (key->text == "<<" && key->form == Node::Form::kPlain) {
      parent.merges.push_back({"<<", key->at, std::move(value)});
      return;
    }
    const auto [it, fresh] = parent.seen.try_emplace(key->text, key->at);
    if (!fresh) {
      found_.add(key->at, "duplicate key " + quote(key->text) + ", it stands in line " +
                              std::to_string(it->second.line) + " already, keep one");
      return;
    }
    parent.node->entries.push_back({key->text, key->at, std::move(value)});
  }

  // `<<: *base` and `<<: [*a, *b]`: keys that the mapping does not have itself; earlier ones first.
  void apply_merges(Open& frame) {
    for (const Entry& merge : frame.merges) {
      std::vector<NodePtr> bases;
      if (merge.value->kind == Node::Kind::kSequence) bases = merge.value->items;
      if (merge.value->kind == Node::Kind::kMapping) bases.push_back(merge.value);
      const bool right = !bases.empty() && std::all_of(bases.begin(), bases.end(), [](auto& base) {
        return base->kind == Node::Kind::kMapping;
      });
      if (!right) {
        found_.add(merge.at, "<< takes a mapping or a list of mappings, such as <<: *base");
        continue;
      }
      for (const NodePtr& base : bases) add_missing(frame, *base);
    }
  }

  static void add_missing(Open& frame, const Node& base) {
    for (const Entry& entry : base.entries) {
      if (frame.seen.try_emplace(entry.key, entry.at).second) frame.node->entries.push_back(entry);
    }
  }

  const Source& source_;
  const Environment& environment_;
  Diagnostics& found_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, NodePtr> anchors_;
  YAML::Mark mark_;  // of the last event
  NodePtr root_;
};

}  // namespace

NodePtr read_yaml(const Source& source, const Environment& environment, Diagnostics& found) {
  ViewBuffer buffer(source.text());
  std::istream input(&buffer);
  Builder builder(source, environment, found);
  try {
    YAML::Parser parser(input);
    parser.HandleNextDocument(builder);
    NodePtr root = builder.take_root();
    Builder rest(source, environment, found);
    if (parser.HandleNextDocument(rest)) {
      const NodePtr second = rest.take_root();
      found.add(second ? second->at : Position{},
                "a second document, a policy is one; take the --- line out");
    }
    return root;
  } catch (const YAML::Exception& error) {
    const Position at = position_of(error.mark, source);
    found.add(
        at, "not YAML: " + error.msg,
        std::string(tab_hint(source.line(at.line))) + "nothing after this place was looked at");
  }
  return nullptr;
}

}  // namespace weir::policy
