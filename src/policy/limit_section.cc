#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "policy/match.h"
#include "policy/numbers.h"
#include "policy/override_key.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

constexpr std::size_t kLongestTier = 256;
constexpr std::uint64_t kLargestCost = 1'000'000'000'000;

// A limit while it is read. `limit` holds what needs no other part of it.
struct LimitDraft {
  LimitDraft(const Scope& s, Limit& l) : scope(s), limit(l) {}

  const Scope& scope;
  Limit& limit;
  std::optional<Algorithm> algorithm;
  SetDraft set;
  std::optional<std::size_t> key_parts;  // as written; absent where `key` was wrong
  Position key_at;
  NodePtr tiers;
  NodePtr overrides;
};

void read_limit_name(Reader& reader, const Entry& entry, LimitDraft& out) {
  read_name(reader, entry, out.limit.name);
}

void read_limit_algorithm(Reader& reader, const Entry& entry, LimitDraft& out) {
  Algorithm algorithm{};
  if (read_algorithm(reader, entry, algorithm)) out.algorithm = algorithm;
}

void read_limit_match(Reader& reader, const Entry& entry, LimitDraft& out) {
  out.limit.match = read_match(reader, entry, out.scope);
}

void read_limit_except(Reader& reader, const Entry& entry, LimitDraft& out) {
  out.limit.except = read_matches(reader, entry, out.scope);
}

void read_limit_key(Reader& reader, const Entry& entry, LimitDraft& out) {
  const std::size_t before = reader.mistakes();
  out.key_at = entry.at;
  out.limit.key = read_key(reader, entry, out.scope);
  out.key_parts.reset();
  if (reader.mistakes() == before) out.key_parts = out.limit.key.size();
}

void read_cost(Reader& reader, const Entry& entry, LimitDraft& out) {
  Cost& cost = out.limit.cost;
  const bool is_number = !entry.value->is_scalar() || entry.value->text.empty() ||
                         entry.value->text.find_first_of("./|") == std::string::npos;
  const bool starts_as_number =
      entry.value->is_scalar() && !entry.value->text.empty() &&
      std::string_view("0123456789+-.").find(entry.value->text[0]) != std::string_view::npos;
  if (is_number || starts_as_number) {
    read_count(reader, entry, cost.fixed, {0, kLargestCost});
    return;
  }
  const auto attribute = read_attribute(reader, entry.value->text, entry.value->at, out.scope);
  if (!attribute) return;
  using Kind = Attribute::Kind;
  const bool holds_number = attribute->kind == Kind::kHeader || attribute->kind == Kind::kCookie ||
                            attribute->kind == Kind::kQuery || attribute->kind == Kind::kDeclared ||
                            attribute->kind == Kind::kMessagePointer;
  if (!holds_number) {
    reader.mistake(entry.value->at, "cost is " + to_string(*attribute) +
                                        ", wants a whole number, or an attribute that holds one "
                                        "such as header.x-cost or message./tokens");
    return;
  }
  cost.from = *attribute;
}

void read_max_cost(Reader& reader, const Entry& entry, LimitDraft& out) {
  std::uint64_t value = 0;
  if (read_count(reader, entry, value, {1, kLargestCost})) out.limit.cost.max_cost = value;
}

void read_mode(Reader& reader, const Entry& entry, LimitDraft& out) {
  const int index = read_word(reader, entry, {"enforce", "shadow", "leased"});
  if (index == 1) out.limit.mode = Mode::kShadow;
  if (index == 2) reader.refuse_unbuilt(Feature::kLeased, entry.value->at);
}

constexpr std::array<std::pair<std::string_view, Missing>, 3> kMissingWords{
    {{"skip", Missing::kSkip}, {"share", Missing::kShare}, {"deny", Missing::kDeny}}};

constexpr std::array<std::pair<std::string_view, OnError>, 3> kOnErrorWords{
    {{"allow", OnError::kAllow}, {"deny", OnError::kDeny}, {"local", OnError::kLocal}}};

void read_limit_on_error(Reader& reader, const Entry& entry, LimitDraft& out) {
  OnError value{};
  if (read_enum<OnError>(reader, entry, kOnErrorWords, value)) out.limit.on_error = value;
}

struct RefundWhen {
  std::vector<std::string> status;
};

// "2xx", or three digits.
bool is_status_pattern(std::string_view text) {
  if (text.size() != 3 || text[0] < '1' || text[0] > '5') return false;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.substr(1) == "xx" || (digit(text[1]) && digit(text[2]));
}

void read_statuses(Reader& reader, const Entry& entry, RefundWhen& out) {
  for (const Entry& item : read_items(reader, entry, "a list such as [2xx, 3xx]")) {
    const std::string* text = read_scalar(reader, item, "a status such as 2xx or 404");
    if (text == nullptr) continue;
    if (is_status_pattern(*text)) {
      out.status.push_back(*text);
    } else {
      reader.mistake(item.at, "status has " + quote(item.value->shown()) +
                                  ", wants a status such as 2xx or 404");
    }
  }
}

constexpr std::array kRefundFields{
    Field<RefundWhen>{{"status", "list of statuses such as 2xx or 404", kRequired,
                       "The upstream's answers that give the cost back."},
                      read_statuses},
};

void read_refund_when(Reader& reader, const Entry& entry, LimitDraft&) {
  RefundWhen unused;
  read_fields<RefundWhen>(reader, entry, kRefundFields, unused);
}

void read_settle(Reader& reader, const Entry& entry, LimitDraft&) {
  constexpr std::string_view kPrefix = "response_header:";
  const std::string* text = read_scalar(reader, entry, "response_header:NAME");
  if (text == nullptr) return;
  const bool right =
      text->starts_with(kPrefix) && parse_attribute("header." + text->substr(kPrefix.size()), {});
  if (!right) {
    reader.mistake(entry.value->at,
                   "settle is " + quote(entry.value->shown()) + ", wants response_header:NAME");
  }
}

constexpr std::array kLimitFields{
    Field<LimitDraft>{{"name", "name of 1 to 64 letters, digits, _, . and -", kRequired,
                       "Names the limit in answers, headers, metrics and counters."},
                      read_limit_name},
    Field<LimitDraft>{{"algorithm",
                       "token_bucket, leaky_bucket, fixed_window, sliding_log, sliding_counter, "
                       "concurrency (not yet) or unlimited",
                       kRequired, "How it counts. Which numbers it takes stands below."},
                      read_limit_algorithm},
    Field<LimitDraft>{{"match", "mapping of attributes to patterns", "",
                       "Which requests it counts; left out: every one."},
                      read_limit_match},
    Field<LimitDraft>{{"except", "list of matches", "[]", "Which of those it does not count."},
                      read_limit_except},
    Field<LimitDraft>{{"key", "list of attributes", "[]",
                       "Whom it counts: each tuple of values has a counter. `user|ip` is the first "
                       "that is present. Left out: one counter for all."},
                      read_limit_key},
    Field<LimitDraft>{{"missing", "skip, share or deny", "skip",
                       "What happens to a request that lacks an attribute of the key: it is not "
                       "counted, all such share a counter, or it is refused."},
                      [](Reader& r, const Entry& e, LimitDraft& out) {
                        read_enum<Missing>(r, e, kMissingWords, out.limit.missing);
                      }},
    Field<LimitDraft>{{"cost", "whole number, or an attribute that holds one", "1",
                       "Tokens that a request takes (from a message: not yet)."},
                      read_cost},
    Field<LimitDraft>{{"max_cost", "whole number from 1", "", "The most that a request may cost."},
                      read_max_cost},
    Field<LimitDraft>{{"mode", "enforce, shadow or leased (not yet)", "enforce",
                       "`shadow` counts and tells, and never refuses."},
                      read_mode},
    Field<LimitDraft>{{"on_error", "allow, deny or local", "",
                       "What a decision is when the store fails; left out: `store.on_error`."},
                      read_limit_on_error},
    Field<LimitDraft>{{"tiers", "mapping of tiers to numbers, or to unlimited", "{}",
                       "Other numbers for some values of `tier`. Numbers left out are the "
                       "limit's."},
                      [](Reader&, const Entry& e, LimitDraft& out) { out.tiers = e.value; }},
    Field<LimitDraft>{{"overrides", "list of overrides, see below", "[]",
                       "Other numbers for some keys; stronger than tiers."},
                      [](Reader&, const Entry& e, LimitDraft& out) { out.overrides = e.value; }},
    Field<LimitDraft>{{"refund_when", "a mapping, see below", "",
                       "Gives the cost back when the upstream answered so.", Feature::kRefundWhen},
                      read_refund_when},
    Field<LimitDraft>{{"settle", "response_header:NAME", "",
                       "Corrects the cost by what the upstream answered.", Feature::kSettle},
                      read_settle},
};

std::vector<KeyDoc> limit_keys() {
  std::vector<KeyDoc> out(kLimitFields.begin(), kLimitFields.end());
  const std::vector<KeyDoc> numbers = set_keys();
  out.insert(out.end(), numbers.begin(), numbers.end());
  return out;
}

// The numbers of a tier or an override, those of the limit for what it leaves out. `other_keys`:
// how many keys of the mapping are no numbers.
std::optional<NumberSet> finish_part(Reader& reader, const LimitDraft& draft, const Entry& entry,
                                     const SetDraft& set, std::size_t other_keys) {
  if (set.empty()) {
    if (entry.value->entries.size() > other_keys) return std::nullopt;  // unknown: told already
    reader.mistake(set.place,
                   quote(entry.key) + " replaces no number, give it one or leave it out");
    return std::nullopt;
  }
  if (!draft.algorithm) return std::nullopt;  // told already
  return finish_set(reader, *draft.algorithm, set, &draft.set);
}

void read_tier(Reader& reader, const Entry& entry, LimitDraft& draft) {
  if (entry.key.empty() || entry.key.size() > kLongestTier) {
    reader.mistake(entry.at, quote(entry.key) + " is no tier, wants 1 to 256 bytes");
    return;
  }
  if (entry.value->is_scalar()) {
    if (read_word(reader, entry, {"unlimited"}) == 0) {
      draft.limit.tiers[entry.key] = NumberSet{Unlimited{}};
    }
    return;
  }
  if (read_mapping(reader, entry) == nullptr) return;
  SetDraft set;
  refuse_unknown_keys(reader, entry, set_keys());
  read_set(reader, entry, set);
  std::optional<NumberSet> numbers = finish_part(reader, draft, entry, set, 0);
  if (numbers) draft.limit.tiers[entry.key] = std::move(*numbers);
}

void read_tiers(Reader& reader, const Entry& entry, LimitDraft& draft) {
  const Node* mapping = read_mapping(reader, entry);
  if (mapping == nullptr) return;
  for (const Entry& tier : mapping->entries) read_tier(reader, tier, draft);
}

struct OverrideDraft {
  std::vector<std::string> key;
  std::vector<Position> places;
  Position key_at;
  bool key_right = false;
  bool unlimited = false;
};

void read_key_values(Reader& reader, const Entry& entry, OverrideDraft& out) {
  const std::size_t before = reader.mistakes();
  out.key_at = entry.at;
  for (const Entry& item : read_items(reader, entry, "a list of values, such as [\"user-42\"]")) {
    std::string value;
    if (!read_text(reader, item, value)) continue;
    out.key.push_back(std::move(value));
    out.places.push_back(item.at);
  }
  out.key_right = reader.mistakes() == before;
}

constexpr std::array kOverrideFields{
    Field<OverrideDraft>{{"key", "list of values", kRequired,
                          "The values of the limit's key, in its order: `[\"user-42\"]`."},
                         read_key_values},
    Field<OverrideDraft>{
        {"unlimited", "true or false", "false", "Instead of numbers: no limit."},
        [](Reader& r, const Entry& e, OverrideDraft& out) { read_bool(r, e, out.unlimited); }},
};

std::vector<KeyDoc> override_keys() {
  std::vector<KeyDoc> out(kOverrideFields.begin(), kOverrideFields.end());
  const std::vector<KeyDoc> numbers = set_keys();
  out.insert(out.end(), numbers.begin(), numbers.end());
  return out;
}

// As many values as the limit's key has parts, each in the form in which it is counted.
bool check_override_key(Reader& reader, const LimitDraft& draft, OverrideDraft& out) {
  if (!out.key_right || !draft.key_parts) return false;
  const std::size_t wanted = *draft.key_parts;
  if (wanted == 0) {
    reader.mistake(out.key_at, "the limit has no key, so that no override can be meant by one");
    return false;
  }
  if (out.key.size() != wanted) {
    reader.mistake(out.key_at, "key has " + std::to_string(out.key.size()) +
                                   " values, wants as many as the limit's key has parts: " +
                                   std::to_string(wanted));
    return false;
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    Result<std::string> value =
        override_value(draft.limit.key[i], out.key[i], draft.scope.identity);
    if (!value) {
      reader.mistake(out.places[i], value.error().message);
      return false;
    }
    out.key[i] = std::move(*value);
  }
  return true;
}

std::optional<Override> read_override(Reader& reader, const Entry& entry, LimitDraft& draft) {
  if (read_mapping(reader, entry) == nullptr) return std::nullopt;
  OverrideDraft parts;
  SetDraft set;
  refuse_unknown_keys(reader, entry, override_keys());
  read_known<OverrideDraft>(reader, entry, kOverrideFields, parts);
  read_set(reader, entry, set);
  const bool key_right = check_override_key(reader, draft, parts);
  std::optional<NumberSet> numbers;
  if (!parts.unlimited) {
    numbers = finish_part(reader, draft, entry, set, 1);
  } else if (set.empty()) {
    numbers = NumberSet{Unlimited{}};
  } else {
    reader.mistake(entry.at, "this override is unlimited and has numbers, keep one");
  }
  if (!key_right || !numbers) return std::nullopt;
  return Override{std::move(parts.key), std::move(*numbers)};
}

// The values of a key as one text that no other values give.
std::string joined(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += std::to_string(value.size()) + ":" + value;
  return out;
}

void read_overrides(Reader& reader, const Entry& entry, LimitDraft& draft) {
  std::unordered_set<std::string> seen;
  for (const Entry& item :
       read_items(reader, entry, "a list such as [{key: [\"user-42\"], rate: 5/s}]")) {
    std::optional<Override> one = read_override(reader, item, draft);
    if (!one) continue;
    if (!seen.insert(joined(one->key)).second) {
      reader.mistake(item.at, "duplicate override: its key has one already, keep one");
      continue;
    }
    draft.limit.overrides.push_back(std::move(*one));
  }
}

void check_cost(Reader& reader, const Entry& entry, const Limit& limit) {
  const Cost& cost = limit.cost;
  if (cost.max_cost && !cost.from && *cost.max_cost < cost.fixed) {
    reader.mistake(entry.at, "max_cost is below cost: every request would be refused");
  }
}

void read_limit(Reader& reader, const Entry& entry, const Scope& scope, Limit& out) {
  if (read_mapping(reader, entry) == nullptr) return;
  LimitDraft draft(scope, out);
  draft.key_parts = 0;
  refuse_unknown_keys(reader, entry, limit_keys());
  read_known<LimitDraft>(reader, entry, kLimitFields, draft);
  read_set(reader, entry, draft.set);
  if (draft.algorithm) {
    std::optional<NumberSet> numbers = finish_set(reader, *draft.algorithm, draft.set, nullptr);
    if (numbers) out.numbers = std::move(*numbers);
  }
  if (draft.tiers) read_tiers(reader, {"tiers", draft.tiers->at, draft.tiers}, draft);
  if (draft.overrides) {
    read_overrides(reader, {"overrides", draft.overrides->at, draft.overrides}, draft);
  }
  check_cost(reader, entry, out);
}

}  // namespace

void read_limits(Reader& reader, const Entry& entry, Policy& out) {
  const Scope scope{out.attributes, out.identity};
  std::unordered_map<std::string, std::uint32_t> lines;
  for (const Entry& item : read_items(reader, entry, "a list of limits; [] for none")) {
    Limit& limit = out.limits.emplace_back();
    read_limit(reader, item, scope, limit);
    if (limit.name.empty()) continue;
    const Node& value = *item.value;
    const Position at = value.find("name")->value->at;
    const auto [it, fresh] = lines.try_emplace(limit.name, at.line);
    if (!fresh) {
      reader.mistake(at, "duplicate limit name " + quote(limit.name) + ", line " +
                             std::to_string(it->second) + " has it already, wants another");
    }
  }
}

void document_limits(std::vector<SectionDoc>& out) {
  out.push_back(document<LimitDraft>("limits[]", "", kLimitFields));
  document_numbers(out);
  out.push_back(document<OverrideDraft>("limits[].overrides[]",
                                        "Beside these, the numbers of a limit.", kOverrideFields));
  out.push_back(document<RefundWhen>("limits[].refund_when", "", kRefundFields));
}

}  // namespace weir::policy
