// Pattern: what a `match` writes for one attribute: an exact value, a list of alternatives, a
// wildcard, ~regex (RE2, whole value), or a file of these (value_list.h). Linear time on any
// input.
//
// Values are bytes: a regular expression's `.` matches any one of them, a newline too, so that no
// odd byte slips past `~.*`.
//
// THREADS: immutable after the adds; any.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "weir/result.h"

namespace re2 {
class RE2;
}

namespace weir::policy {

class ValueList;  // value_list.h

class Pattern {
 public:
  enum class Kind : std::uint8_t {
    kExact,
    kWildcard,  // * matches any run of bytes, also none
    kPath,      // * one non-empty segment, ** any rest; /a/** also matches /a
    kRegex,
    kCidr,
  };

  struct Alternative {
    Kind kind = Kind::kExact;
    std::string text;  // as written, without the ~
    std::string form;  // what values are compared with: text, normalised as they are
    std::shared_ptr<const re2::RE2> regex;  // WHY shared: policies are copied, programs are big
    IpPrefix cidr;

    bool matches(std::string_view value) const;  // kCidr: never
  };

  // Adds one alternative, read as the attribute wants it. A path is put in normal form with the
  // default options; prepare_path_pattern (path.h) applies a policy's own.
  // ERRORS: kInvalid, saying what is wrong with it and what is allowed.
  Result<bool> add_text(std::string_view text);  // exact, wildcard or ~regex
  Result<bool> add_path(std::string_view text);  // exact, path wildcard or ~regex
  Result<bool> add_cidr(std::string_view text);  // an address or a block
  void add(Alternative alternative);
  // What a file lists, beside the alternatives.
  void use_list(std::shared_ptr<const ValueList> list) { list_ = std::move(list); }

  // Any alternative, or one of the list. `value` as text; matches_ip for kCidr.
  bool matches(std::string_view value) const;
  bool matches_ip(const IpAddress& address) const;

  const std::vector<Alternative>& alternatives() const { return alternatives_; }
  const ValueList* list() const { return list_.get(); }  // null where there is none

  // The alternative for values whose upper-case ASCII letters have been made lower-case.
  static Alternative folded(Alternative alternative);

 private:
  std::vector<Alternative> alternatives_;
  std::shared_ptr<const ValueList> list_;  // WHY shared: policies are copied, lists are big
};

// `pattern` as it compares with normalise_host's answers: folded, without a trailing dot.
Pattern prepare_host_pattern(const Pattern& pattern);

// Whether `*` of `pattern`, each standing for any run of bytes, can be filled to give `text`.
bool matches_wildcard(std::string_view pattern, std::string_view text);

// The segment after the '/' with which `path` begins; `path` is moved past it.
std::string_view take_segment(std::string_view& path);

}  // namespace weir::policy
