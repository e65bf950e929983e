#include "engine/explain.h"

#include <algorithm>
#include <utility>

#include "engine/request_view.h"
#include "policy/format.h"
#include "policy/value_list.h"

namespace weir::engine {
namespace {

using Kind = policy::Attribute::Kind;

std::string quoted(std::string_view text) {
  std::string out = "'";
  append_printable(out, text);
  return out + '\'';
}

// What the request has of an attribute, or that it has none.
std::string found(const policy::Attribute& attribute, RequestView& request) {
  if (attribute.kind == Kind::kIp) {
    return request.ip() ? "is " + request.ip()->to_string() : "is missing";
  }
  const auto value = attribute.kind == Kind::kMethod ? request.method() : request.find(attribute);
  return value ? "is " + quoted(*value) : "is missing";
}

std::string wanted(const policy::Pattern& pattern) {
  if (pattern.list() != nullptr) return "what " + pattern.list()->file() + " lists";
  std::string out;
  for (const policy::Pattern::Alternative& alternative : pattern.alternatives()) {
    if (!out.empty()) out += " or ";
    if (alternative.kind == policy::Pattern::Kind::kRegex) out += '~';
    append_printable(out, alternative.text);
  }
  return out;
}

// The first condition that does not hold, in words; empty where all do.
std::string mismatch(const Matcher& matcher, RequestView& request) {
  for (const policy::Condition& condition : matcher.conditions()) {
    if (holds(condition, request, Readings::kAny)) continue;
    return policy::to_string(condition.attribute) + ' ' + found(condition.attribute, request) +
           ", wanted is " + wanted(condition.pattern);
  }
  return {};
}

std::string why_not(const CompiledLimit& limit, RequestView& request) {
  if (limit.for_messages() != request.is_message()) {
    return limit.for_messages() ? "it is for WebSocket messages only"
                                : "its match does not name message, and this is one";
  }
  if (std::string reason = mismatch(limit.matcher(), request); !reason.empty()) return reason;
  for (std::size_t i = 0; i < limit.excepts().size(); ++i) {
    if (limit.excepts()[i].matches(request, Readings::kAll)) {
      return "entry " + std::to_string(i + 1) + " of its except takes the request out";
    }
  }
  return {};
}

std::string numbers_of(const CounterSet& counters) {
  std::string out;
  for (const Counter& counter : counters) {
    if (!out.empty()) out += " and ";
    out += policy::format_numbers(counter.rule.numbers());
  }
  return out;
}

// Which set of numbers was taken, when it is not the limit's own.
std::string set_of(const CounterSet& counters) {
  const std::string& name = counters.front().name;
  const std::size_t at = name.find('@');
  return at == std::string::npos ? std::string() : " (" + name.substr(at + 1) + ')';
}

std::string ban_of(const policy::Ban& ban) {
  return ", banned for " + policy::format_duration(ban.length) + " after " +
         std::to_string(ban.after) + " refusals within " + policy::format_duration(ban.within);
}

std::string explain_limit(const CompiledLimit& limit, RequestView& request) {
  if (const std::string reason = why_not(limit, request); !reason.empty()) {
    return "does not apply: " + reason;
  }
  const policy::Missing missing = limit.written().missing;
  std::string key;
  const auto outcome = limit.key().append(request, missing == policy::Missing::kShare, key);
  if (outcome == KeySpec::Outcome::kMissing) {
    return missing == policy::Missing::kDeny
               ? "refuses: the request lacks a part of its key, and missing is deny"
               : "does not count: the request lacks a part of its key, and missing is skip";
  }
  const CounterSet& counters = limit.counters(request, key);
  std::string out = "counts ";
  out += limit.key().empty() ? "all together" : readable_key(key);
  out += " by " + numbers_of(counters) + set_of(counters);
  out += ", cost " + std::to_string(limit.cost(request));
  if (limit.shadow()) out += ", as a shadow that never refuses";
  if (limit.written().ban && !limit.shadow()) out += ban_of(*limit.written().ban);
  return out;
}

Error wrong_word(std::string_view word, const std::string& why) {
  return Error{
      ErrorCode::kInvalid,
      quoted(word) + ' ' + why + "; a request is written as: POST /login from 203.0.113.7 user=42"};
}

bool is_method(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

std::string_view take_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

// The attributes that one word names: method, path with query, or name=value.
std::vector<std::pair<std::string, std::string_view>> read_word(std::string_view word) {
  if (word[0] == '/') {
    std::vector<std::pair<std::string, std::string_view>> named = {
        {"path", word.substr(0, word.find('?'))}};
    std::string_view query = word.substr(std::min(word.find('?'), word.size()));
    while (!query.empty()) {
      query.remove_prefix(1);  // '?' or '&'
      const std::string_view pair = query.substr(0, query.find('&'));
      query.remove_prefix(pair.size());
      const std::size_t equals = std::min(pair.find('='), pair.size());
      if (equals == 0) continue;
      named.emplace_back("query." + std::string(pair.substr(0, equals)),
                         pair.substr(std::min(equals + 1, pair.size())));
    }
    return named;
  }
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos) {
    return {{std::string(word.substr(0, equals)), word.substr(equals + 1)}};
  }
  if (is_method(word)) return {{"method", word}};
  return {};
}

}  // namespace

Result<bool> read_request(std::string_view text, const policy::Policy& policy,
                          SentAttributes& out) {
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    std::vector<std::pair<std::string, std::string_view>> named;
    if (word == "from") {
      word = take_word(text);
      named = {{"ip", word}};
    } else {
      named = read_word(word);
    }
    if (named.empty()) return wrong_word(word, "is neither a method, a path nor name=value");
    for (const auto& [name, value] : named) {
      if (const auto bad = out.add(name, value, policy)) return wrong_word(word, bad->message);
    }
  }
  return true;
}

std::string explain(const CompiledPolicy& policy, const Attributes& request) {
  if (!policy.policy().enabled) return "nothing is limited: enabled is false\n";
  RequestView view(request, policy.policy().paths);
  if (policy.is_exempt(view)) return "nothing is limited: the request is exempt\n";
  std::vector<EntryId> scratch;
  // What is written holds for ever, so that the moment does not matter.
  if (const policy::Block* block = policy.find_block(view, Instant{}, scratch)) {
    const auto place = block - policy.policy().block.data() + 1;
    return "refused: entry " + std::to_string(place) + " of block meets the request\n";
  }
  std::string out;
  for (const CompiledLimit& limit : policy.limits()) {
    out += limit.written().name + ": " + explain_limit(limit, view) + '\n';
  }
  return out;
}

}  // namespace weir::engine
