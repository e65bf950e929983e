#include "policy/print_parts.h"

#include "policy/format.h"
#include "policy/value_list.h"

namespace weir::policy {
namespace {

// In values, but not in keys, ${ is escaped.
std::string quoted(std::string_view value, bool is_key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
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

}  // namespace weir::policy
