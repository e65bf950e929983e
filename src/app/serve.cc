#include "app/serve.h"

#include <cstdio>

#include "app/flag_policy.h"
#include "app/runtime.h"
#include "app/signals.h"
#include "app/validate.h"

namespace weir::app {
namespace {

// The policy that the options name, or nothing once the mistakes are printed.
std::optional<policy::Policy> load(const ServeOptions& options) {
  if (options.policy_file.empty()) return policy_from_flags(options);
  policy::Loaded loaded = policy::load_file(options.policy_file);
  print_findings(loaded);
  if (!loaded.policy) return std::nullopt;
  const policy::Policy& policy = *loaded.policy;
  if (!policy.gateway && !policy.api && !policy.resp && !policy.grpc && !policy.admin) {
    std::fprintf(
        stderr,
        "%s: nothing to serve: the policy names no listener; add gateway, api, resp, grpc or "
        "admin\n",
        options.policy_file.c_str());
    return std::nullopt;
  }
  return std::move(loaded.policy);
}

void reload(Runtime& runtime, const ServeOptions& options) {
  if (options.policy_file.empty()) {
    std::fprintf(stderr, "weir: SIGHUP: there is no policy file to read again\n");
    return;
  }
  runtime.reload(options.policy_file);
}

}  // namespace

int run_serve(const ServeOptions& options) {
  std::optional<policy::Policy> policy = load(options);
  if (!policy) return kExitUsage;
  signals::block();
  auto runtime = Runtime::open(std::move(*policy), options);
  if (!runtime) {
    std::fprintf(stderr, "weir: %s\n", runtime.error().message.c_str());
    return runtime.error().code == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
  }
  (*runtime)->start();
  (*runtime)->print_start();
  while (signals::wait() == signals::Event::kReload) reload(**runtime, options);
  (*runtime)->stop();
  return kExitOk;
}

}  // namespace weir::app
