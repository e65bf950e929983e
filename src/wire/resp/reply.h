// ReplyParser: the client's side. One reply of a server as a flat tree of views, RESP2 and RESP3.
//
// As CommandParser: the caller keeps the bytes, each call of parse() sees the same reply from its
// first byte with more behind it, and the parser goes on where it stopped. Bounded in depth, nodes
// and bytes; what a count or length promises is never allocated before it came. Attributes are
// read over. Streamed RESP3 values ("$?") are refused: no server sends them.
//
// THREADS: one parser, one thread. Reuses its memory from reply to reply.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/resp/parse.h"

namespace weir::resp {

enum class Type : std::uint8_t {
  kSimple,
  kError,  // also '!'
  kInteger,
  kBulk,  // also '=', without its format
  kNull,  // "$-1", "*-1" and "_"
  kBoolean,
  kDouble,     // text() has it as it came
  kBigNumber,  // text() has it as it came
  kArray,
  kSet,
  kMap,  // key, value, key, value: size() counts both
  kPush,
};

struct ReplyLimits {
  std::uint32_t max_nodes = 1 << 20;
  std::uint32_t max_bytes = 64 << 20;  // of the whole reply
  std::uint32_t max_line = 64 << 10;   // of a simple string, an error or a number
};

// One value of a parsed reply, and what it holds. A view: lives until the parser is fed again.
class Reply {
 public:
  Type type() const { return node().type; }
  bool is(Type type) const { return node().type == type; }
  bool is_error() const { return is(Type::kError); }
  bool is_text() const { return is(Type::kSimple) || is(Type::kBulk); }
  bool is_list() const { return node().type >= Type::kArray; }

  // Bytes of a string, an error or a number; empty for lists.
  std::string_view text() const { return data_.substr(node().offset, node().length); }
  // kInteger, and kBoolean as 0 or 1; else 0.
  std::int64_t integer() const { return node().integer; }
  // Text or integer that is a whole number.
  std::optional<std::int64_t> as_integer() const;

  std::size_t size() const { return is_list() ? node().length : 0; }
  // The values of a list, in order: for (Reply r = list.first(); r.valid(); r = r.next()).
  Reply first() const { return Reply(*nodes_, data_, index_ + 1, node().end); }
  Reply next() const { return Reply(*nodes_, data_, node().end, stop_); }
  bool valid() const { return index_ < stop_; }
  // The i-th value, or one that is not valid(). Walks the list.
  Reply at(std::size_t i) const;
  // The value after the key `name` in a map, or in an array of pairs, or one that is not valid().
  Reply find(std::string_view name) const;

 private:
  friend class ReplyParser;
  struct Node {
    Type type = Type::kNull;
    std::uint32_t end = 0;     // the node after this one and all it holds
    std::uint32_t offset = 0;  // text
    std::uint32_t length = 0;  // of the text; values in the list
    std::int64_t integer = 0;
  };

  Reply(const std::vector<Node>& nodes, std::string_view data, std::size_t index, std::size_t stop)
      : nodes_(&nodes), data_(data), index_(index), stop_(stop) {}
  const Node& node() const { return (*nodes_)[index_]; }

  const std::vector<Node>* nodes_;
  std::string_view data_;
  std::size_t index_;
  std::size_t stop_;
};

class ReplyParser {
 public:
  static constexpr std::size_t kMaxDepth = 16;

  explicit ReplyParser(ReplyLimits limits = {}) : limits_(limits) {}

  // kComplete: take consumed() bytes off the front, and go on with the next reply.
  Progress parse(std::string_view data);

  // After kComplete, until the bytes move or parse() is called.
  Reply reply() const { return Reply(nodes_, data_, 0, nodes_.size()); }
  std::size_t consumed() const { return position_; }
  // After kError: what was wrong, static text, lower case.
  std::string_view error() const { return error_; }
  // Forgets a reply read in part; the next byte is the first of one.
  void reset();

 private:
  using Node = Reply::Node;
  struct Open {
    std::uint32_t node = 0;       // of an attribute: how many nodes there were before it
    std::uint32_t remaining = 0;  // values still to come
    bool attribute = false;
  };

  bool take_value(std::string_view data);
  bool take_line(std::string_view data, std::string_view& line);
  bool take_scalar(char type, std::string_view line, std::size_t offset);
  bool take_bulk(char type, std::string_view line, std::string_view data, std::size_t start);
  bool take_list(char type, std::string_view line);
  bool add(Node node);
  void close_lists();
  bool fail(std::string_view message);

  ReplyLimits limits_;
  std::string_view data_;
  std::vector<Node> nodes_;
  std::array<Open, kMaxDepth> open_{};
  std::size_t depth_ = 0;
  std::size_t position_ = 0;  // everything before it has been read
  std::size_t scanned_ = 0;   // no line ends before it
  bool complete_ = false;
  bool failed_ = false;
  std::string_view error_;
};

}  // namespace weir::resp
