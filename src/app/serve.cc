#include "app/serve.h"

#include <cstdio>

#include "app/flag_policy.h"
#include "app/fleet_bans.h"
#include "app/listen_options.h"
#include "app/live/files_watch.h"
#include "app/live/live_policy.h"
#include "app/runtime.h"
#include "app/service_manager.h"
#include "app/signals.h"
#include "app/validate.h"
#include "base/log.h"

namespace weir::app {
namespace {

constexpr unsigned kControlLoop = 0;  // its number among its own: it serves no connection

// The policy that the options name, or nothing once the mistakes are printed.
std::optional<policy::Policy> load(const ServeOptions& options, LivePolicy& live) {
  if (options.policy_file.empty()) {
    std::optional<policy::Policy> policy = policy_from_flags(options);
    if (policy) live.use(*policy);
    return policy;
  }
  policy::Loaded loaded = live.load_first();
  print_findings(loaded);
  if (!loaded.policy) return std::nullopt;
  const policy::Policy& policy = *loaded.policy;
  if (!has_listener(policy)) {
    std::fprintf(stderr, "%s: %s\n", policy.file.c_str(), kNoListener);
    return std::nullopt;
  }
  return std::move(loaded.policy);
}

int fail(const Error& error) {
  log::flush();  // before the line that says how it ended
  std::fprintf(stderr, "weir: %s\n", error.message.c_str());
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
}

// Where a fleet shares its bans; null where counters are in memory.
Result<std::unique_ptr<FleetBans>> open_bans(Runtime& runtime, net::Loop& control) {
  const auto current = runtime.engine().current();
  const policy::Store& store = current->policy().store;
  if (store.in_memory()) return std::unique_ptr<FleetBans>();
  return FleetBans::open(control, store, runtime.bans(), runtime.clock());
}

// Until a signal ends it. This thread carries the control loop: what it does there, such as loading
// a policy, no request waits for.
int serve(Runtime& runtime, LivePolicy& live, net::Loop& control) {
  // Before clients may come: what they open could leave no descriptor for it.
  bool stopped = false;
  const signals::Watch watch(control, [&](signals::Event event) {
    if (event == signals::Event::kReload) return live.reload("SIGHUP");
    if (event == signals::Event::kReopenLogs) return runtime.reopen_logs();
    stopped = true;
  });
  FilesWatch certificates(control, [&runtime] { runtime.reload_certificates(); });
  const auto watch_certificates = [&] {
    const auto current = runtime.engine().current();
    certificates.watch(tls_files_of(current->policy()));
  };
  auto bans = open_bans(runtime, control);
  if (!bans) return fail(bans.error());
  const auto follow_bans = [&] {
    const auto current = runtime.engine().current();
    if (*bans) (*bans)->follow(current->policy());
  };
  follow_bans();
  const auto install = [&](policy::Policy policy) {
    Result<bool> installed = runtime.install(std::move(policy));
    if (installed) {
      watch_certificates();
      follow_bans();
    }
    return installed;
  };
  const auto change = [&](policy::Policy policy) {
    Result<bool> changed = runtime.change(std::move(policy));
    if (changed) follow_bans();
    return changed;
  };
  live.start({runtime.clock(), runtime.registry(), runtime.engine(), install, change});
  watch_certificates();
  runtime.start();
  if (const auto offered = runtime.offer_hand_over(signals::stop); !offered) {
    live.stop();
    runtime.stop();
    return fail(offered.error());
  }
  runtime.print_start();
  tell_service_manager("READY=1");
  control.run_until([&stopped] { return stopped; });
  tell_service_manager("STOPPING=1");
  live.stop();
  runtime.stop();
  return kExitOk;
}

}  // namespace

int run_serve(const ServeOptions& options) {
  signals::block();
  const log::Background log;  // no loop waits for who reads it
  net::Loop control(kControlLoop);
  std::unique_ptr<PolicySource> source;
  if (!options.policy_file.empty()) {
    auto opened = open_policy_source(control, options.policy_file);
    if (!opened) return fail(opened.error());
    source = std::move(*opened);
  }
  LivePolicy live(control, std::move(source), options.last_good);
  std::optional<policy::Policy> policy = load(options, live);
  if (!policy) return kExitUsage;
  auto runtime = Runtime::open(std::move(*policy), options, live);
  if (!runtime) return fail(runtime.error());
  return serve(**runtime, live, control);
}

}  // namespace weir::app
