#include "app/runtime.h"

#include <cstdio>

#include "app/drain.h"
#include "app/reload_changes.h"
#include "app/test_clock.h"
#include "app/version.h"
#include "base/log.h"
#include "engine/compiled_policy.h"
#include "serve/api/handler.h"
#include "serve/grpc/json.h"
#include "serve/grpc/server.h"
#include "serve/grpc/service.h"
#include "serve/http/server.h"
#include "serve/resp/server.h"

namespace weir::app {
namespace {

http::Options http_options(std::string name, const policy::Address& listen, const Clock& clock) {
  http::Options options;
  options.clock = &clock;
  options.name = std::move(name);
  options.listen = {listen.host, listen.port};
  return options;
}

std::string describe_upstreams(const policy::Gateway& gateway) {
  std::string text;
  for (const policy::Upstream& upstream : gateway.upstreams) {
    if (!text.empty()) text += ", ";
    text += "http://" + upstream.address.to_string();
  }
  return text;
}

bool same_address(const std::optional<policy::Address>& a,
                  const std::optional<policy::Address>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || a->to_string() == b->to_string();
}

template <typename Section>
std::optional<policy::Address> listen_of(const std::optional<Section>& section) {
  if (!section) return std::nullopt;
  return section->listen;
}

// The sections of a reloaded policy that take effect only at the next start.
std::vector<std::string> need_restart(const policy::Policy& now, const policy::Policy& next) {
  std::vector<std::string> sections;
  if (!same_address(listen_of(now.gateway), listen_of(next.gateway))) {
    sections.push_back("gateway.listen");
  }
  if (!same_address(listen_of(now.api), listen_of(next.api))) sections.push_back("api.listen");
  if (!same_address(listen_of(now.resp), listen_of(next.resp))) sections.push_back("resp.listen");
  if (!same_address(listen_of(now.grpc), listen_of(next.grpc))) sections.push_back("grpc.listen");
  if (!same_address(listen_of(now.admin), listen_of(next.admin))) {
    sections.push_back("admin.listen");
  }
  if (now.store.url != next.store.url || now.store.max_keys != next.store.max_keys) {
    sections.push_back("store");
  }
  return sections;
}

}  // namespace

Runtime::Runtime(const ServeOptions& options)
    : loops_(options.loops == 0 ? net::usable_cpus() : options.loops) {}

Runtime::~Runtime() {
  loops_.stop();
}

Result<std::unique_ptr<Runtime>> Runtime::open(policy::Policy policy, const ServeOptions& options) {
  std::unique_ptr<Runtime> runtime(new Runtime(options));
  Result<bool> done = runtime->make_clock(options);
  if (!done) return done.error();
  auto store = open_store(policy.store, runtime->loops_, runtime->registry_);
  if (!store) return store.error();
  runtime->store_ = std::move(*store);
  runtime->engine_ = std::make_unique<engine::Engine>(runtime->store_.store(), &runtime->registry_);
  runtime->adhoc_ = std::make_unique<engine::Adhoc>(runtime->store_.store());
  done = runtime->install(policy);
  if (!done) return done.error();
  runtime->add_gauges();
  // The loops carry the store's connections; listeners open once it has answered, or has not.
  runtime->loops_.start();
  runtime->store_line_ = runtime->connect_store(policy.store);
  done = runtime->open_listeners(policy);
  if (!done) return done.error();
  return runtime;
}

// Puts a policy in force whose numbers the store can hold.
Result<bool> Runtime::install(policy::Policy policy) {
  const auto compiled = engine::CompiledPolicy::make(policy);
  if (!compiled) return compiled.error();
  const Result<bool> held = check_store(**compiled);
  if (!held) return held.error();
  const Result<bool> installed = engine_->install(std::move(policy));
  if (installed) ++generation_;
  return installed;
}

std::string Runtime::connect_store(const policy::Store& settings) {
  if (store_.redis) {
    store_.redis->on_instances([this](std::uint32_t count) { engine_->set_instances(count); });
    return connect(*store_.redis, settings);
  }
  return "counters in the memory of this process, for at most " +
         std::to_string(settings.max_keys) + " keys";
}

Result<bool> Runtime::make_clock(const ServeOptions& options) {
#ifdef WEIR_TEST_HOOKS
  if (options.test_clock.empty()) return true;
  auto made = TestClock::listen(options.test_clock);
  if (!made) return made.error();
  test_clock_ = std::move(*made);
  clock_ = &test_clock_->clock();
#else
  (void)options;
#endif
  return true;
}

Result<bool> Runtime::open_listeners(const policy::Policy& policy) {
  if (policy.gateway) {
    auto opened = gateway::Gateway::open(loops_, *engine_, *clock_, registry_);
    if (!opened) return Error{opened.error().code, "gateway: " + opened.error().message};
    gateway_ = std::move(*opened);
  }
  rate_limiter_ = std::make_unique<grpc::RateLimiter>(*engine_, *adhoc_, *clock_, registry_);
  if (policy.api) {
    http::Options options = http_options("api", policy.api->listen, *clock_);
    options.unreadable =
        registry_.counter("weir_requests_total", "Requests by what became of them.",
                          {{"listener", "api"}, {"outcome", "error"}});
    auto opened = http::open(loops_, std::move(options),
                             api::make_handler({*engine_, *adhoc_, *clock_, registry_},
                                               grpc::json_handler(*rate_limiter_)));
    if (!opened) return Error{opened.error().code, "api: " + opened.error().message};
    api_ = std::move(*opened);
  }
  if (policy.resp) {
    const Result<bool> opened = open_resp(*policy.resp);
    if (!opened) return opened.error();
  }
  if (policy.grpc) {
    const Result<bool> opened = open_grpc(*policy.grpc);
    if (!opened) return opened.error();
  }
  if (policy.admin) {
    const auto token = [this] {
      const auto current = engine_->current();
      return current->policy().admin ? current->policy().admin->token : std::string();
    };
    admin::Sources sources{&registry_, [this] { return readiness(); }, token};
    auto opened = http::open(loops_, http_options("admin", policy.admin->listen, *clock_),
                             admin::make_handler(std::move(sources)));
    if (!opened) return Error{opened.error().code, "admin: " + opened.error().message};
    admin_ = std::move(*opened);
  }
  return true;
}

Result<bool> Runtime::open_resp(const policy::Resp& section) {
  resp::Options options;
  options.listen = {section.listen.host, section.listen.port};
  auto opened = resp::open(loops_, std::move(options), {*engine_, *adhoc_, *clock_, registry_});
  if (!opened) return Error{opened.error().code, "resp: " + opened.error().message};
  resp_ = std::move(*opened);
  return true;
}

Result<bool> Runtime::open_grpc(const policy::Grpc& section) {
  grpc::Options options;
  options.listen = {section.listen.host, section.listen.port};
  auto opened = grpc::open(loops_, std::move(options), grpc::all_methods(*rate_limiter_));
  if (!opened) return Error{opened.error().code, "grpc: " + opened.error().message};
  grpc_ = std::move(*opened);
  return true;
}

void Runtime::add_gauges() {
  registry_.gauge("weir_build_info", "The program's version and commit; always 1.",
                  {{"version", version()}, {"commit", commit()}}, [] { return 1.0; });
  registry_.gauge("weir_config_generation", "How many policies have been put in force.", {},
                  [this] { return static_cast<double>(generation_.load()); });
  if (!store_.memory) return;
  registry_.gauge("weir_keys", "Counters held in the memory store.", {},
                  [this] { return static_cast<double>(store_.memory->keys()); });
  registry_.counter_from("weir_evictions_total",
                         "Counters forgotten although not fresh: store.max_keys was reached.",
                         [this] { return store_.memory->evictions(); });
}

void Runtime::print_start() const {
  const auto current = engine_->current();
  const policy::Policy& policy = current->policy();
  std::printf("%s: policy %s, %zu limits%s; %s; %zu loops\n", version_line().c_str(),
              policy.file.c_str(), policy.limits.size(),
              policy.enabled ? "" : " (enabled: false, nothing is limited)", store_line_.c_str(),
              loops_.size());
  if (gateway_) {
    std::printf("gateway: http://%s -> %s\n", gateway_->address().c_str(),
                describe_upstreams(*policy.gateway).c_str());
  }
  if (api_) std::printf("api: http://%s/v1/check\n", api_->address().c_str());
  if (resp_) std::printf("resp: redis://%s\n", resp_->address().c_str());
  if (grpc_) std::printf("grpc: http://%s\n", grpc_->address().c_str());
  if (admin_) std::printf("admin: http://%s/metrics\n", admin_->address().c_str());
  std::printf("ready\n");
  std::fflush(stdout);
}

void Runtime::start() {
  if (gateway_) gateway_->start();
  if (api_) api_->start();
  if (resp_) resp_->start();
  if (grpc_) grpc_->start();
  if (admin_) admin_->start();
}

void Runtime::stop() {
  const auto current = engine_->current();
  const policy::GatewayTimeouts defaults;
  const auto& gateway = current->policy().gateway;
  const Duration within = gateway ? gateway->timeouts.drain : defaults.drain;
  log::info("stopping: what is in flight has " +
            std::to_string(std::chrono::ceil<std::chrono::seconds>(within).count()) +
            " s to finish");
  std::vector<Drain> drains;
  if (gateway_) drains.push_back([&](auto done) { gateway_->drain(within, std::move(done)); });
  if (api_) drains.push_back([&](auto done) { api_->drain(within, std::move(done)); });
  if (resp_) drains.push_back([&](auto done) { resp_->drain(within, std::move(done)); });
  if (grpc_) drains.push_back([&](auto done) { grpc_->drain(within, std::move(done)); });
  drain_all(drains);
  // The admin listener answers to the last: what is drained can be watched.
  if (admin_) drain_all({[&](auto done) { admin_->drain(within, std::move(done)); }});
  loops_.stop();
}

void Runtime::reload(const std::string& file) {
  policy::Loaded loaded = policy::load_file(file);
  for (const policy::Diagnostic& warning : loaded.warnings) {
    log::warning(warning.to_line());
  }
  if (!loaded.policy) {
    std::vector<std::string> reasons;
    for (const policy::Diagnostic& mistake : loaded.mistakes) reasons.push_back(mistake.to_line());
    return refuse_reload(std::move(reasons));
  }
  const auto before = engine_->current();
  for (const std::string& section : need_restart(before->policy(), *loaded.policy)) {
    log::warning("reload: " + section + " has changed; that takes effect at the next start");
  }
  keep_open_listeners(before->policy(), *loaded.policy);
  const auto afresh = limits_that_start_afresh(before->policy(), *loaded.policy);
  const Result<bool> installed = install(std::move(*loaded.policy));
  if (!installed) return refuse_reload({installed.error().message});
  registry_.counter("weir_config_reloads_total", "Reloads by result.", {{"result", "ok"}}).add();
  {
    std::lock_guard lock(mutex_);
    reload_mistakes_.clear();
  }
  for (const std::string& limit : afresh) {
    log::info("reload: limit " + limit +
              " counts afresh, since its algorithm or window has changed");
  }
  log::info("reload: " + file + " is in force, generation " + std::to_string(generation_.load()));
}

void Runtime::refuse_reload(std::vector<std::string> reasons) {
  registry_.counter("weir_config_reloads_total", "Reloads by result.", {{"result", "refused"}})
      .add();
  for (const std::string& reason : reasons) log::error("reload refused: " + reason);
  log::error("reload refused: the policy of generation " + std::to_string(generation_.load()) +
             " stays in force");
  std::lock_guard lock(mutex_);
  reload_mistakes_ = std::move(reasons);
}

admin::Readiness Runtime::readiness() const {
  admin::Readiness readiness;
  readiness.generation = generation_.load();
  const auto current = engine_->current();
  readiness.policy = current->policy().file;
  if (store_.redis && !store_.redis->up()) {
    // What fails open or to a local share still decides.
    readiness.ready = current->policy().store.on_error != policy::OnError::kDeny;
    readiness.reasons.push_back("store: " + store_.redis->trouble());
  }
  std::lock_guard lock(mutex_);
  for (const std::string& mistake : reload_mistakes_) {
    readiness.reasons.push_back("the last reload was refused: " + mistake);
  }
  return readiness;
}

}  // namespace weir::app
