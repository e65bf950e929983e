#include "app/validate.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "app/listen_options.h"
#include "app/named_files.h"
#include "app/store.h"
#include "app/tokens.h"
#include "base/counted.h"
#include "engine/compiled_policy.h"
#include "engine/explain.h"
#include "engine/matcher.h"
#include "engine/request_view.h"

namespace weir::app {

void print_findings(const policy::Loaded& loaded) {
  for (const policy::Diagnostic& mistake : loaded.mistakes) {
    std::fputs(mistake.to_string().c_str(), stderr);
  }
  for (const policy::Diagnostic& warning : loaded.warnings) {
    policy::Diagnostic marked = warning;
    marked.message = "warning: " + warning.message;
    std::fputs(marked.to_string().c_str(), stderr);
  }
}

namespace {

struct NumberedRoute {
  engine::Matcher match;
  const policy::UpstreamGroup& group;
  std::size_t number;
};

// "goes to http://b:1, http://b:2 by route 2", where there are routes.
std::string explain_route(const policy::Policy& policy, const engine::Attributes& attributes) {
  if (!policy.gateway || policy.gateway->routes.empty()) return "";
  std::vector<NumberedRoute> routes;
  for (const policy::Route& route : policy.gateway->routes) {
    routes.push_back(
        {engine::Matcher(route.match, policy.paths), route.upstream, routes.size() + 1});
  }
  engine::RequestView request(attributes, policy.paths);
  const NumberedRoute* const taken = engine::first_match(routes, request);
  const policy::UpstreamGroup& group = taken != nullptr ? taken->group : policy.gateway->upstream;
  if (group.servers.empty()) return "goes nowhere: 404, since it takes no route\n";
  const std::string by = taken != nullptr ? "route " + std::to_string(taken->number) : "no route";
  return "goes to " + describe(group) + " by " + by + '\n';
}

// Says what is wrong; the exit code of that.
int refuse(const std::string& file, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", file.c_str(), why.c_str());
  return kExitUsage;
}

// Checks one file and, where asked to, explains a request by it. The exit code.
int validate_file(const std::string& file, const std::string& request) {
  policy::Loaded loaded = policy::load_file(file);
  print_findings(loaded);
  if (!loaded.policy) return kExitUsage;
  const Result<bool> attached = attach_tokens(*loaded.policy, nullptr);
  if (!attached) return refuse(file, attached.error().message);
  const std::size_t limits = loaded.policy->limits.size();
  const auto compiled = engine::CompiledPolicy::make(std::move(*loaded.policy));
  if (!compiled) return refuse(file, compiled.error().message);
  const Result<bool> stored = check_store(**compiled);
  if (!stored) return refuse(file, stored.error().message);
  const std::vector<std::string> unreadable = check_tls_files((*compiled)->policy());
  for (const std::string& one : unreadable) refuse(file, one);
  if (!unreadable.empty()) return kExitUsage;
  if (!has_listener((*compiled)->policy())) {
    std::fprintf(stderr, "%s: warning: %s\n", file.c_str(), kNoListener);
  }
  std::printf("%s: right, %s\n", file.c_str(), counted(limits, "limit").c_str());
  if (request.empty()) return kExitOk;
  engine::SentAttributes attributes;
  const auto read = engine::read_request(request, (*compiled)->policy(), attributes);
  if (!read) {
    std::fprintf(stderr, "weir: --explain: %s\n", read.error().message.c_str());
    return kExitUsage;
  }
  std::fputs(engine::explain(**compiled, attributes).c_str(), stdout);
  std::fputs(explain_route((*compiled)->policy(), attributes).c_str(), stdout);
  return kExitOk;
}

}  // namespace

int run_validate(const ValidateOptions& options) {
  int exit_code = kExitOk;
  for (const std::string& file : options.files) {
    exit_code = std::max(exit_code, validate_file(file, options.explain));
  }
  return exit_code;
}

}  // namespace weir::app
