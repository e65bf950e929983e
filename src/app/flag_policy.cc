#include "app/flag_policy.h"

#include <cstdio>

#include "policy/address.h"
#include "policy/limit_flag.h"

namespace weir::app {
namespace {

// The value, or nothing once the mistake is printed under the option's name.
template <typename T>
std::optional<T> take(const char* option, const policy::Parsed<T>& parsed) {
  if (const auto* mistake = std::get_if<policy::ScalarError>(&parsed)) {
    std::fprintf(stderr, "weir: %s %s\n", option, mistake->message.c_str());
    return std::nullopt;
  }
  return std::get<T>(parsed);
}

}  // namespace

std::optional<policy::Policy> policy_from_flags(const ServeOptions& options) {
  const auto listen = take("--listen", policy::parse_address(options.listen));
  const auto upstream = take("--upstream", policy::parse_upstream(options.upstream));
  policy::LimitFlags flags = policy::parse_limit_flags(options.limits);
  for (const policy::Diagnostic& mistake : flags.mistakes) {
    std::fputs(mistake.to_string().c_str(), stderr);
  }
  if (!listen || !upstream || !flags.mistakes.empty()) return std::nullopt;
  policy::Policy policy;
  policy.file = "from the command line";
  policy.limits = std::move(flags.limits);
  policy.gateway.emplace();
  policy.gateway->listen = *listen;
  policy.gateway->upstream.servers.push_back(*upstream);
  return policy;
}

}  // namespace weir::app
