// `limits`: one entry of the list, but for the numbers (numbers.h) and the parts (limit_draft.h).

#include <array>
#include <unordered_map>

#include "policy/limit_draft.h"
#include "policy/match.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

constexpr std::uint64_t kLargestCost = 1'000'000'000'000;

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

// Whether an attribute can hold a cost.
bool may_hold_number(const Attribute& attribute) {
  using Kind = Attribute::Kind;
  return attribute.kind == Kind::kHeader || attribute.kind == Kind::kCookie ||
         attribute.kind == Kind::kQuery || attribute.kind == Kind::kDeclared ||
         attribute.kind == Kind::kMessagePointer;
}

// An attribute's name begins with a letter; whatever does not is told as a number.
void read_cost(Reader& reader, const Entry& entry, LimitDraft& out) {
  const std::string& text = entry.value->text;
  const bool named = entry.value->is_scalar() && !text.empty() &&
                     ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
  if (!named) {
    read_count(reader, entry, out.limit.cost.fixed, {0, kLargestCost});
    return;
  }
  const auto attribute = read_attribute(reader, text, entry.value->at, out.scope);
  if (!attribute) return;
  if (!may_hold_number(*attribute)) {
    reader.mistake(entry.value->at, "cost is " + to_string(*attribute) +
                                        ", wants a whole number, or an attribute that holds one "
                                        "such as header.x-cost or message./tokens");
    return;
  }
  out.limit.cost.from = *attribute;
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

void read_limit_on_error(Reader& reader, const Entry& entry, LimitDraft& out) {
  OnError value{};
  if (read_enum<OnError>(reader, entry, kOnErrorWords, value)) out.limit.on_error = value;
}

constexpr Range<Duration> kBanSpans{std::chrono::seconds(1), std::chrono::hours(24 * 365)};

constexpr std::array kBanFields{
    Field<Ban>{{"after", "whole number from 1 to 100", kRequired, "How many refusals."},
               [](Reader& r, const Entry& e, Ban& b) {
                 read_number(r, e, b.after, {1, 100});
               }},
    Field<Ban>{{"within", "duration from 1s to 365d", kRequired, "In which span of time."},
               [](Reader& r, const Entry& e, Ban& b) { read_duration(r, e, b.within, kBanSpans); }},
    Field<Ban>{
        {"for", "duration from 1s to 365d", kRequired, "For how long the key is then refused."},
        [](Reader& r, const Entry& e, Ban& b) { read_duration(r, e, b.length, kBanSpans); }},
    Field<Ban>{
        {"doubling_to", "duration from 1s to 365d", "",
         "Each further ban lasts twice as long as the one before, up to this; left out: all "
         "last as long."},
        [](Reader& r, const Entry& e, Ban& b) { read_duration(r, e, b.doubling_to, kBanSpans); }},
};

void read_ban(Reader& reader, const Entry& entry, LimitDraft& out) {
  Ban ban;
  const std::size_t before = reader.mistakes();
  read_fields<Ban>(reader, entry, kBanFields, ban);
  if (reader.mistakes() != before) return;
  if (ban.doubling_to == Duration{0}) ban.doubling_to = ban.length;
  if (ban.doubling_to < ban.length) {
    reader.mistake(entry.value->find("doubling_to")->at,
                   "doubling_to is shorter than `for`, wants at least as long");
    return;
  }
  out.limit.ban = ban;
}

struct RefundWhen {
  std::vector<std::string> status;
};

constexpr std::size_t kMaxStatuses = 64;

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

void read_refund_when(Reader& reader, const Entry& entry, LimitDraft& out) {
  RefundWhen read;
  read_fields<RefundWhen>(reader, entry, kRefundFields, read);
  if (read.status.size() > kMaxStatuses) {
    reader.mistake(entry.at, "status names " + std::to_string(read.status.size()) +
                                 " statuses, wants 64 at most: 4xx stands for a hundred");
  }
  out.limit.refund_when = std::move(read.status);
}

void read_settle(Reader& reader, const Entry& entry, LimitDraft& out) {
  constexpr std::string_view kPrefix = "response_header:";
  const std::string* text = read_scalar(reader, entry, "response_header:NAME");
  if (text == nullptr) return;
  std::optional<Attribute> header;
  if (text->starts_with(kPrefix)) {
    header = parse_attribute("header." + text->substr(kPrefix.size()), {});
  }
  if (header) {
    out.limit.settle = header->name;
  } else {
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
                       "concurrency or unlimited",
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
                       "Tokens that a request takes."},
                      read_cost},
    Field<LimitDraft>{{"max_cost", "whole number from 1", "",
                       "With a cost from an attribute: what a request costs at most."},
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
                      [](Reader&, const Entry& e, LimitDraft& out) { out.tiers = e; }},
    Field<LimitDraft>{{"overrides", "list of overrides, see below", "[]",
                       "Other numbers for some keys; stronger than tiers."},
                      [](Reader&, const Entry& e, LimitDraft& out) { out.overrides = e; }},
    Field<LimitDraft>{{"ban", "a mapping, see below", "",
                       "Refuses a key for a while that this limit has refused too often."},
                      read_ban},
    Field<LimitDraft>{{"refund_when", "a mapping, see below", "",
                       "In the gateway: gives the cost back when the upstream answered so, such as "
                       "to count failed logins only."},
                      read_refund_when},
    Field<LimitDraft>{{"settle", "response_header:NAME", "",
                       "In the gateway: the upstream says in this header what the request cost; "
                       "what it said before is corrected. Names the limits that `/v1/settle` "
                       "corrects, where there are any."},
                      read_settle},
};

const std::vector<KeyDoc>& limit_keys() {
  static const std::vector<KeyDoc> kKeys = [] {
    std::vector<KeyDoc> out(kLimitFields.begin(), kLimitFields.end());
    out.insert(out.end(), set_keys().begin(), set_keys().end());
    return out;
  }();
  return kKeys;
}

}  // namespace

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
  read_tiers(reader, draft);
  read_overrides(reader, draft);
}

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
  document_overrides(out);
  out.push_back(document<Ban>("limits[].ban", "", kBanFields));
  out.push_back(document<RefundWhen>("limits[].refund_when", "", kRefundFields));
}

}  // namespace weir::policy
