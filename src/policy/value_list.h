// ValueList: the alternatives of a pattern that stand in a file, one a line, ready to be looked up:
// addresses and blocks, or exact values, wildcards and ~regex. Blank lines, and those that begin
// with '#', are left out.
//
// A look costs a step for each length of block that the file has, or one for all exact values and
// one for each wildcard and regex; of those there can be 1,000, of lines 1,000,000.
//
// THREADS: immutable; any.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/ip.h"
#include "policy/attribute.h"
#include "policy/pattern.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::policy {

class ValueList {
 public:
  static constexpr std::size_t kMax = 1'000'000;
  static constexpr std::size_t kMaxPatterns = 1'000;

  // ERRORS: what is wrong with the file or its first wrong line, as the rest of a sentence.
  static Result<std::shared_ptr<const ValueList>> read(const std::string& file,
                                                       const Attribute& attribute);

  const std::string& file() const { return file_; }
  bool matches(std::string_view value) const;
  bool matches_ip(const IpAddress& address) const;

 private:
  struct HashAddress {
    std::size_t operator()(const IpAddress& address) const;
  };
  // All blocks of one family and length.
  struct Blocks {
    bool v4 = true;
    unsigned bits = 0;
    std::unordered_set<IpAddress, HashAddress> networks;
  };

  Result<bool> add(std::string_view line, bool addresses);
  void add_block(const IpPrefix& block);

  std::string file_;
  std::string text_;  // what exact_ looks into
  std::unordered_set<std::string_view> exact_;
  Pattern patterns_;
  std::vector<Blocks> blocks_;  // at most 33 + 129
  std::size_t size_ = 0;
};

// The files of lists that the policy names, each once.
std::vector<std::string> listed_files(const Policy& policy);

}  // namespace weir::policy
