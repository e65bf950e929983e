#include "policy/overshadowed.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>

#include "base/wide.h"
#include "policy/value_list.h"

namespace weir::policy {
namespace {

constexpr std::size_t kMaxOfAKind = 16;  // limits that another is compared with

bool is_no_faster(const Rate& a, const Rate& b) {
  return Wide{a.count} * static_cast<std::uint64_t>(b.period.count()) <=
         Wide{b.count} * static_cast<std::uint64_t>(a.period.count());
}

// Whether whatever `a` admits, `b` admits too.
struct AsStrict {
  bool operator()(const TokenBucket& a, const TokenBucket& b) const {
    return is_no_faster(a.rate, b.rate) && a.burst <= b.burst;
  }
  bool operator()(const FixedWindow& a, const FixedWindow& b) const {
    return a.window == b.window && a.align == b.align && a.limit <= b.limit;
  }
  bool operator()(const SlidingLog& a, const SlidingLog& b) const {
    return a.window >= b.window && a.limit <= b.limit;
  }
  bool operator()(const SlidingCounter& a, const SlidingCounter& b) const {
    return a.window == b.window && a.align == b.align && a.limit <= b.limit;
  }
  bool operator()(const Concurrency& a, const Concurrency& b) const {
    return a.timeout >= b.timeout && a.limit <= b.limit;
  }
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

// Each pair of `b` has one of `a` that is as strict.
bool is_as_strict(const NumberSet& a, const NumberSet& b) {
  return !b.empty() && std::all_of(b.begin(), b.end(), [&a](const Numbers& pair) {
    return std::any_of(a.begin(), a.end(), [&pair](const Numbers& other) {
      return std::visit(AsStrict{}, other, pair);
    });
  });
}

std::string text_of(const std::optional<Match>& match) {
  if (!match) return {};
  std::string out;
  for (const Condition& condition : match->conditions) {
    out += to_string(condition.attribute) + '=';
    if (const ValueList* list = condition.pattern.list()) out += "file " + list->file();
    for (const Pattern::Alternative& one : condition.pattern.alternatives()) {
      out += std::to_string(static_cast<int>(one.kind)) + ':' + std::to_string(one.text.size()) +
             ':' + one.text + ',';
    }
  }
  return out;
}

// What two limits must have in common beside the match: the key and the cost.
std::string kind_of(const Limit& limit) {
  std::string out = std::to_string(static_cast<int>(limit.missing)) + ' ' +
                    std::to_string(limit.cost.fixed) + ' ';
  for (const KeyPart& part : limit.key) {
    for (const Attribute& attribute : part.alternatives) out += to_string(attribute) + '|';
    out += ',';
  }
  return out;
}

bool is_plain(const Limit& limit) {
  return limit.tiers.empty() && limit.overrides.empty() && !limit.cost.from &&
         limit.refund_when.empty() && limit.settle.empty() && !limit.ban;
}

bool is_for_messages(const Limit& limit) {
  using Kind = Attribute::Kind;
  return limit.match && std::any_of(limit.match->conditions.begin(), limit.match->conditions.end(),
                                    [](const Condition& condition) {
                                      return condition.attribute.kind == Kind::kMessage ||
                                             condition.attribute.kind == Kind::kMessagePointer;
                                    });
}

}  // namespace

std::vector<std::optional<std::size_t>> find_overshadowed(const std::vector<Limit>& limits) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> known;  // kind and match
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Limit& limit = limits[i];
    if (!is_plain(limit) || limit.mode != Mode::kEnforce || !limit.except.empty()) continue;
    auto& places = known[{kind_of(limit), text_of(limit.match)}];
    if (places.size() < kMaxOfAKind) places.push_back(i);
  }
  std::vector<std::optional<std::size_t>> out(limits.size());
  const auto look = [&](std::size_t i, const std::string& match) {
    const auto found = known.find({kind_of(limits[i]), match});
    if (found == known.end() || out[i]) return;
    for (const std::size_t other : found->second) {
      if (other == i || !is_as_strict(limits[other].numbers, limits[i].numbers)) continue;
      // Of two that are equal the first stays.
      if (other > i && is_as_strict(limits[i].numbers, limits[other].numbers)) continue;
      out[i] = other;
      return;
    }
  };
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!is_plain(limits[i])) continue;
    look(i, text_of(limits[i].match));
    if (limits[i].match && !is_for_messages(limits[i])) look(i, "");
  }
  return out;
}

}  // namespace weir::policy
