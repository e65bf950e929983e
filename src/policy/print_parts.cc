#include "policy/print_parts.h"

#include "base/hex.h"
#include "policy/format.h"
#include "policy/value_list.h"

namespace weir::policy {
namespace {

// In values, but not in keys, ${ is escaped.
std::string quoted(std::string_view value, bool is_key) {
  std::string out = "\"";
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      append_hex_byte(out, c);
    } else {
      if (!is_key && c == '$' && i + 1 < value.size() && value[i + 1] == '{') out += '$';
      out += c;
    }
  }
  return out + "\"";
}

std::string alternative(const Pattern::Alternative& one) {
  return text(one.kind == Pattern::Kind::kRegex ? "~" + one.text : one.text);
}

std::string pattern(const Pattern& value) {
  if (value.list() != nullptr) return "{ file: " + text(value.list()->file()) + " }";
  return list(value.alternatives(), alternative);
}

// The inside of a match's braces.
std::string conditions(const Match& value) {
  std::string out;
  for (const Condition& condition : value.conditions) {
    out += (out.empty() ? "" : ", ") + key_text(to_string(condition.attribute)) + ": " +
           pattern(condition.pattern);
  }
  return out;
}

std::string_view word(Balance value) {
  switch (value) {
    case Balance::kRoundRobin:
      return "round_robin";
    case Balance::kLeastConnections:
      return "least_connections";
  }
  return "";
}

std::string ejection(const Ejection& value) {
  return "{ failures: " + std::to_string(value.failures) +
         ", base_time: " + format_duration(value.base_time) +
         ", max_time: " + format_duration(value.max_time) + " }";
}

std::string check(const HealthCheck& value) {
  std::string out = "{ path: " + text(value.path);
  if (!value.host.empty()) out += ", host: " + text(value.host);
  return out + ", every: " + format_duration(value.every) +
         ", timeout: " + format_duration(value.timeout) +
         ", healthy_after: " + std::to_string(value.healthy_after) +
         ", unhealthy_after: " + std::to_string(value.unhealthy_after) + " }";
}

// "rate: 10/s, burst: 5": one pair of numbers, as the inside of a flow mapping.
struct Pair {
  std::string operator()(const TokenBucket& n) const {
    return "rate: " + format_rate(n.rate) + ", burst: " + std::to_string(n.burst);
  }
  std::string operator()(const LeakyBucket& n) const {
    return "rate: " + format_rate(n.rate) + ", queue: " + std::to_string(n.queue);
  }
  std::string operator()(const FixedWindow& n) const {
    const std::string limit = "limit: " + std::to_string(n.limit) + ", window: ";
    if (const auto* calendar = std::get_if<Calendar>(&n.window)) {
      return limit + std::string(calendar_word(calendar->unit)) +
             ", timezone: " + text(calendar->timezone);
    }
    return limit + format_duration(std::get<Duration>(n.window)) + ", " + align(n.align);
  }
  std::string operator()(const SlidingLog& n) const {
    return "limit: " + std::to_string(n.limit) + ", window: " + format_duration(n.window);
  }
  std::string operator()(const SlidingCounter& n) const {
    return "limit: " + std::to_string(n.limit) + ", window: " + format_duration(n.window) + ", " +
           align(n.align);
  }
  std::string operator()(const Concurrency& n) const {
    return "limit: " + std::to_string(n.limit) + ", timeout: " + format_duration(n.timeout);
  }
  std::string operator()(const Unlimited&) const { return ""; }

 private:
  static std::string align(Align value) {
    return value == Align::kFirst ? "align: first" : "align: epoch";
  }
};

}  // namespace

std::string text(std::string_view value) {
  return quoted(value, false);
}

std::string key_text(std::string_view value) {
  return quoted(value, true);
}

std::string print_match(const Match& value) {
  return "{ " + conditions(value) + " }";
}

std::string print_upstream(const UpstreamGroup& value) {
  std::string out = "{ servers: " +
                    list(value.servers, [](const Upstream& server) { return text(server.url()); });
  out.append(", balance: ").append(word(value.balance));
  out += ", eject: " + ejection(value.eject);
  if (value.check) out += ", check: " + check(*value.check);
  return out + " }";
}

std::string print_route(const Route& value) {
  return "{ " + conditions(value.match) + ", upstream: " + print_upstream(value.upstream) + " }";
}

std::string print_numbers(const NumberSet& set) {
  if (set.empty()) return "";
  if (set.size() == 1) return std::visit(Pair{}, set[0]);
  const Algorithm algorithm = algorithm_of(set[0]);
  const bool bucket = algorithm == Algorithm::kTokenBucket || algorithm == Algorithm::kLeakyBucket;
  return (bucket ? "buckets: " : "windows: ") +
         list(set, [](const Numbers& n) { return "{ " + std::visit(Pair{}, n) + " }"; });
}

bool is_unlimited(const NumberSet& set) {
  return set.size() == 1 && algorithm_of(set[0]) == Algorithm::kUnlimited;
}

}  // namespace weir::policy
