#include "policy/print.h"

#include <string_view>
#include <utility>

#include "policy/format.h"
#include "policy/print_listeners.h"
#include "policy/print_parts.h"

namespace weir::policy {
namespace {

std::string_view word(OnError value) {
  switch (value) {
    case OnError::kAllow:
      return "allow";
    case OnError::kDeny:
      return "deny";
    case OnError::kLocal:
      return "local";
  }
  return "";
}

std::string_view word(Missing value) {
  switch (value) {
    case Missing::kSkip:
      return "skip";
    case Missing::kShare:
      return "share";
    case Missing::kDeny:
      return "deny";
  }
  return "";
}

std::string_view word(Mode value) {
  return value == Mode::kShadow ? "shadow" : "enforce";
}

std::string_view word(HeaderFamily value) {
  switch (value) {
    case HeaderFamily::kXRateLimit:
      return "x-ratelimit";
    case HeaderFamily::kRateLimit:
      return "ratelimit";
    case HeaderFamily::kRetryAfter:
      return "retry-after";
  }
  return "";
}

std::string_view word(Unreadable value) {
  switch (value) {
    case Unreadable::kRefuse:
      return "refuse";
    case Unreadable::kPass:
      return "pass";
    case Unreadable::kClose:
      return "close";
  }
  return "";
}

std::string client_ip(const Identity& identity) {
  switch (identity.client_ip) {
    case ClientIpSource::kXForwardedFor:
      return "x-forwarded-for";
    case ClientIpSource::kForwarded:
      return "forwarded";
    case ClientIpSource::kXRealIp:
      return "x-real-ip";
    case ClientIpSource::kHeader:
      return "header:" + identity.client_ip_header;
    case ClientIpSource::kProxyProtocol:
      return "proxy-protocol";
    case ClientIpSource::kPeer:
      return "peer";
  }
  return "";
}

std::string source(const AttributeSource& value) {
  switch (value.kind) {
    case AttributeSource::Kind::kHeader:
      return "header:" + value.name;
    case AttributeSource::Kind::kCookie:
      return "cookie:" + value.name;
    case AttributeSource::Kind::kQuery:
      return "query:" + value.name;
    case AttributeSource::Kind::kJwt:
      return "jwt:" + value.name;
  }
  return "";
}

std::string body(const Response& response) {
  switch (response.body) {
    case BodyFormat::kJson:
      return "json";
    case BodyFormat::kProblemJson:
      return "problem+json";
    case BodyFormat::kTemplate:
      return text(response.template_file);
  }
  return "";
}

std::string ban(const Ban& value) {
  return "{ after: " + std::to_string(value.after) + ", within: " + format_duration(value.within) +
         ", for: " + format_duration(value.length) +
         ", doubling_to: " + format_duration(value.doubling_to) + " }";
}

std::string cors(const Cors& value) {
  if (value.any_origin) return "echo";
  return value.on() ? list(value.origins, text) : "off";
}

std::string key_part(const KeyPart& part) {
  std::string out;
  for (const Attribute& attribute : part.alternatives) {
    out += (out.empty() ? "" : "|") + to_string(attribute);
  }
  return text(out);
}

class Printer {
 public:
  explicit Printer(PrintOptions options) : options_(options) {}

  std::string print(const Policy& policy) {
    line("", "enabled", print_bool(policy.enabled));
    line("", "mode", word(policy.mode));
    store(policy.store);
    line("", "attributes", list(policy.attributes, [](const auto& name) { return text(name); }));
    identity(policy.identity);
    out_ += policy.limits.empty() ? "limits: []\n" : "limits:\n";
    for (const Limit& one : policy.limits) limit(one);
    line("", "exempt", list(policy.exempt, print_match));
    blocks(policy.block);
    response(policy.response);
    websocket(policy.websocket);
    paths(policy.paths);
    out_ += print_listeners(policy, options_);
    metrics(policy.metrics);
    log(policy.log);
    return std::move(out_);
  }

 private:
  void line(std::string_view indent, std::string_view key, std::string_view value) {
    out_.append(indent).append(key).append(": ").append(value).append("\n");
  }

  // Bans are changes that lie over the policy, and stand with these.
  void blocks(const std::vector<Block>& value) {
    std::vector<Match> written;
    for (const Block& block : value) {
      if (!block.ban) written.push_back(block.match);
    }
    line("", "block", list(written, print_match));
  }

  void store(const Store& value) {
    out_ += "store:\n";
    const bool secret = value.url.find('@') != std::string::npos && !options_.show_secrets;
    line("  ", "url", secret ? "\"***\"" : text(value.url));
    line("  ", "timeout", format_duration(value.timeout));
    line("  ", "connect_timeout", format_duration(value.connect_timeout));
    line("  ", "on_error", word(value.on_error));
    line("  ", "instances", value.instances ? std::to_string(*value.instances) : "auto");
    line("  ", "deny_cache", format_duration(value.deny_cache));
    line("  ", "prefix", text(value.prefix));
    line("  ", "max_keys", std::to_string(value.max_keys));
    if (!value.snapshot) return;
    line("  ", "snapshot",
         "{ file: " + text(value.snapshot->file) +
             ", every: " + format_duration(value.snapshot->every) + " }");
  }

  void identity(const Identity& value) {
    out_ += "identity:\n";
    line("  ", "client_ip", text(client_ip(value)));
    line("  ", "trusted_proxies", list(value.trusted_proxies, [](const IpPrefix& block) {
           return text(block.to_string());
         }));
    line("  ", "ipv4_prefix", std::to_string(value.ipv4_prefix));
    line("  ", "ipv6_prefix", std::to_string(value.ipv6_prefix));
    line("  ", "user", text(source(value.user)));
    line("  ", "tier", text(source(value.tier)));
    line("  ", "trust_clients", print_bool(value.trust_clients));
    if (value.jwt) jwt(*value.jwt);
  }

  void jwt(const Jwt& value) {
    out_ += "  jwt:\n";
    line("    ", "keys", text(value.keys));
    line("    ", "algorithms",
         list(value.algorithms, [](const std::string& name) { return name; }));
    line("    ", "issuer", text(value.issuer));
    line("    ", "audience", text(value.audience));
  }

  void limit(const Limit& value) {
    line("  - ", "name", text(value.name));
    constexpr std::string_view kIndent = "    ";
    if (!value.numbers.empty()) {
      line(kIndent, "algorithm", algorithm_name(algorithm_of(value.numbers[0])));
    }
    if (!is_unlimited(value.numbers)) {
      // Flow mappings may stand in a block: the table of the algorithm holds them.
      line(kIndent, algorithm_name(algorithm_of(value.numbers[0])),
           "{ " + print_numbers(value.numbers) + " }");
    }
    if (value.match) line(kIndent, "match", print_match(*value.match));
    if (!value.except.empty()) line(kIndent, "except", list(value.except, print_match));
    line(kIndent, "key", list(value.key, key_part));
    line(kIndent, "missing", word(value.missing));
    line(kIndent, "cost",
         value.cost.from ? text(to_string(*value.cost.from)) : std::to_string(value.cost.fixed));
    if (value.cost.max_cost) line(kIndent, "max_cost", std::to_string(*value.cost.max_cost));
    line(kIndent, "mode", word(value.mode));
    if (value.on_error) line(kIndent, "on_error", word(*value.on_error));
    if (value.ban) line(kIndent, "ban", ban(*value.ban));
    if (!value.refund_when.empty()) {
      line(kIndent, "refund_when",
           "{ status: " + list(value.refund_when, [](const auto& v) { return text(v); }) + " }");
    }
    if (!value.settle.empty()) line(kIndent, "settle", text("response_header:" + value.settle));
    tiers(value);
    overrides(value);
  }

  // The numbers of a part, in the table of the limit's algorithm.
  static std::string part(const Limit& value, const NumberSet& set) {
    const Algorithm algorithm = algorithm_of(value.numbers[0]);
    return std::string(algorithm_name(algorithm)) + ": { " + print_numbers(set) + " }";
  }

  void tiers(const Limit& value) {
    if (value.tiers.empty()) return;
    out_ += "    tiers:\n";
    for (const auto& [name, set] : value.tiers) {
      line("      ", key_text(name),
           is_unlimited(set) ? "unlimited" : "{ " + part(value, set) + " }");
    }
  }

  void overrides(const Limit& value) {
    if (value.overrides.empty()) return;
    out_ += "    overrides:\n";
    for (const Override& one : value.overrides) {
      line("      - ", "{ key",
           list(one.key, [](const auto& v) { return text(v); }) + ", " +
               (is_unlimited(one.numbers) ? "unlimited: true" : part(value, one.numbers)) + " }");
    }
  }

  void metrics(const Metrics& value) {
    constexpr std::string_view kForms[] = {"plain", "hashed", "off"};
    out_ += "metrics:\n";
    line("  ", "top_keys", std::to_string(value.top_keys));
    line("  ", "keys", kForms[static_cast<std::size_t>(value.keys)]);
  }

  void log(const Log& value) {
    out_ += "log:\n";
    line("  ", "format", value.format == LogFormat::kJson ? "json" : "logfmt");
    line("  ", "denials", std::to_string(value.denials));
  }

  void response(const Response& value) {
    out_ += "response:\n";
    line("  ", "status", std::to_string(value.status));
    line("  ", "headers",
         list(value.headers, [](HeaderFamily family) { return std::string(word(family)); }));
    line("  ", "body", body(value));
    line("  ", "cors", cors(value.cors));
    line("  ", "shadow_header", print_bool(value.shadow_header));
    line("  ", "retry_jitter", format_duration(value.retry_jitter));
  }

  void websocket(const WebSocket& value) {
    out_ += "websocket:\n";
    line("  ", "kind", text(value.kind));
    line("  ", "request_id", text(value.request_id));
    line("  ", "max_inspect", std::to_string(value.max_inspect) + "B");
    line("  ", "unreadable", word(value.unreadable));
    line("  ", "close_after", std::to_string(value.close_after));
  }

  void paths(const Paths& value) {
    out_ += "paths:\n";
    line("  ", "merge_slashes", print_bool(value.merge_slashes));
    line("  ", "trailing_slash", value.ignore_trailing_slash ? "ignore" : "keep");
    line("  ", "params", value.ignore_params ? "ignore" : "keep");
    line("  ", "case", value.fold_case ? "fold" : "keep");
    line("  ", "encoded_slash", value.keep_encoded_slash ? "keep" : "refuse");
  }

  PrintOptions options_;
  std::string out_;
};

}  // namespace

std::string print_yaml(const Policy& policy, PrintOptions options) {
  return Printer(options).print(policy);
}

}  // namespace weir::policy
