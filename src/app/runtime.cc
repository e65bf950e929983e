#include "app/runtime.h"

#include <cstdio>

#include "app/reload_changes.h"
#include "app/test_clock.h"
#include "app/tokens.h"
#include "app/version.h"
#include "base/counted.h"
#include "base/log.h"
#include "base/seconds.h"
#include "engine/compiled_policy.h"

namespace weir::app {
namespace {

void set_log(const policy::Log& log) {
  const bool json = log.format == policy::LogFormat::kJson;
  log::set_format(json ? log::Format::kJson : log::Format::kLogfmt);
}

}  // namespace

Runtime::Runtime(const ServeOptions& options, admin::Control& control)
    : control_(control), loops_(options.loops == 0 ? net::usable_cpus() : options.loops) {
  log::watch([this](log::Level level, std::string_view text) {
    events_.add(clock_->now().wall_ns / kNsPerMs, level, text);
  });
}

Runtime::~Runtime() {
  loops_.stop();
  admin_.reset();  // its thread looks at what is destroyed next
  // What waits for an answer touches what is destroyed before the store.
  if (store_.redis) store_.redis->close();
  log::watch(nullptr);
}

Result<std::unique_ptr<Runtime>> Runtime::open(policy::Policy policy, const ServeOptions& options,
                                               admin::Control& control) {
  std::unique_ptr<Runtime> runtime(new Runtime(options, control));
  Result<bool> done = runtime->make_clock(options);
  if (!done) return done.error();
  const policy::Store settings = policy.store;
  auto store = open_store(settings, runtime->loops_, runtime->registry_, runtime->clock_->now());
  if (!store) return store.error();
  runtime->store_ = std::move(*store);
  if (runtime->store_.memory) {
    runtime->keeper_ =
        std::make_unique<StoreKeeper>(*runtime->store_.memory, *runtime->clock_, settings.snapshot);
  }
  runtime->engine_ = std::make_unique<engine::Engine>(runtime->store_.store(), &runtime->registry_);
  runtime->adhoc_ = std::make_unique<engine::Adhoc>(runtime->store_.store(), *runtime->engine_);
  runtime->denial_log_ = std::make_unique<DenialLog>(*runtime->engine_);
  runtime->engine_->on_denied(
      [log = runtime->denial_log_.get()](const engine::Attributes& attributes,
                                         const engine::Decision& decision) {
        log->denied(attributes, decision);
      });
  runtime->ban_log_ =
      std::make_unique<BanLog>(*runtime->engine_, *runtime->clock_, runtime->registry_);
  runtime->engine_->bans().on_ban(
      [log = runtime->ban_log_.get()](const engine::Banned& banned) { log->begun(banned); });
  auto prepared = runtime->prepare(std::move(policy));
  if (!prepared) return prepared.error();
  set_log((*prepared)->policy().log);
  runtime->engine_->install(std::move(*prepared));
  runtime->add_gauges();
  // The loops carry the store's connections; listeners open once it has answered, or has not.
  runtime->loops_.start();
  runtime->store_line_ = runtime->connect_store(settings);
  auto inherited = runtime->find_inherited(options.take_over);
  if (!inherited) return inherited.error();
  done = runtime->open_listeners(std::move(*inherited));
  if (!done) return done.error();
  return runtime;
}

Result<Runtime::Compiled> Runtime::prepare(policy::Policy policy) {
  const Result<bool> attached = attach_tokens(policy, &registry_);
  if (!attached) return attached.error();
  return compile(std::move(policy));
}

// A policy whose numbers the store can hold.
Result<Runtime::Compiled> Runtime::compile(policy::Policy policy) const {
  auto compiled = engine_->prepare(std::move(policy));
  if (!compiled) return compiled.error();
  const Result<bool> held = check_store(**compiled);
  if (!held) return held.error();
  return compiled;
}

std::string Runtime::connect_store(const policy::Store& settings) {
  if (store_.redis) {
    store_.redis->on_fleet([this](const store::RedisStore::Fleet& fleet) {
      engine_->set_instances(fleet.instances);
      engine_->share_id_secret(fleet.secret);
    });
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

// The listening sockets that systemd, or the process that this one replaces, passes to it.
Result<net::InheritedSockets> Runtime::find_inherited(const std::string& take_over) {
  net::InheritedSockets inherited = net::InheritedSockets::from_environment();
  if (take_over.empty()) return inherited;
  auto taken = HandOver::take(take_over, inherited);
  if (!taken) return Error{taken.error().code, "--take-over: " + taken.error().message};
  hand_over_ = std::move(*taken);
  return inherited;
}

Result<bool> Runtime::open_listeners(net::InheritedSockets inherited) {
  listeners_ = std::make_unique<Listeners>(
      Listeners::Services{loops_, *engine_, *adhoc_, *clock_, registry_, admin_handler()});
  listeners_->inherit(std::move(inherited));
  const auto current = engine_->current();
  auto opened = listeners_->open(current->policy());
  if (!opened) return opened.error();
  opened_ = std::move(*opened);
  return true;
}

http::AsyncHandler Runtime::admin_handler() {
  const auto token = [this] {
    const auto current = engine_->current();
    return current->policy().admin ? current->policy().admin->token : std::string();
  };
  admin::Sources sources{&registry_, engine_.get(), clock_, &events_, &control_, token, about()};
  admin_ = std::make_unique<admin::Admin>(std::move(sources));
  return admin_->handler();
}

void Runtime::add_gauges() {
  registry_.gauge("weir_build_info", "The program's version and commit; always 1.",
                  {{"version", version()}, {"commit", commit()}}, [] { return 1.0; });
  registry_.counter_from("weir_log_dropped_total",
                         "Lines of the log that were not written: nobody read standard error, or "
                         "it took none.",
                         log::dropped);
  registry_.family_from("weir_connections", "Connections that are open, by listener.",
                        metrics::Type::kGauge,
                        [this](const metrics::Snapshot&, metrics::TextWriter& out) {
                          for (const auto& [listener, count] : listeners_->connections()) {
                            out.gauge({{"listener", listener}}, static_cast<double>(count));
                          }
                        });
  if (!store_.memory) return;
  registry_.family_from("weir_keys", "Counters held in the memory store, by limit.",
                        metrics::Type::kGauge,
                        [this](const metrics::Snapshot&, metrics::TextWriter& out) {
                          for (const auto& [limit, keys] : keys_by_limit()) {
                            out.gauge({{"limit", limit}}, static_cast<double>(keys));
                          }
                        });
  registry_.counter_from("weir_evictions_total",
                         "Counters forgotten although not fresh: store.max_keys was reached.",
                         [this] { return store_.memory->evictions(); });
}

void Runtime::print_start() const {
  const auto current = engine_->current();
  const policy::Policy& policy = current->policy();
  std::printf("%s: policy %s, %s%s; %s; %s\n", version_line().c_str(), policy.file.c_str(),
              counted(policy.limits.size(), "limit").c_str(),
              policy.enabled ? "" : " (enabled: false, nothing is limited)", store_line_.c_str(),
              counted(loops_.size(), "loop").c_str());
  listeners_->print(policy);
  std::printf("ready\n");
  std::fflush(stdout);
}

void Runtime::start() {
  if (keeper_) keeper_->start();
  listeners_->take(std::move(opened_), engine_->current()->policy());
}

Result<bool> Runtime::offer_hand_over(std::function<void()> leave) {
  if (!hand_over_) return true;
  HandOver::Offer offer;
  offer.sockets = [this] { return listeners_->share_sockets(); };
  offer.given = [this, leave = std::move(leave)] {
    listeners_->set_handed_over();
    log::info("another process serves on our sockets");
    leave();
  };
  const Result<bool> offered = hand_over_->offer(std::move(offer));
  if (!offered) return Error{offered.error().code, "--take-over: " + offered.error().message};
  return true;
}

void Runtime::reload_certificates() {
  const auto current = engine_->current();
  const Result<bool> loaded = listeners_->load_certificates(current->policy());
  if (loaded) {
    log::info("TLS: the certificates have changed and are in force");
  } else {
    log::error("TLS: the certificates have changed and are not used: " + loaded.error().message +
               "; those before stay in force");
  }
}

void Runtime::stop() {
  hand_over_.reset();
  const auto current = engine_->current();
  const Duration within = drain_time(current->policy());
  log::info("stopping: what is in flight has " +
            std::to_string(std::chrono::ceil<std::chrono::seconds>(within).count()) +
            " s to finish");
  listeners_->drain(within);
  loops_.stop();
  if (keeper_) keeper_->stop();
}

Result<bool> Runtime::install(policy::Policy policy) {
  const auto before = engine_->current();
  keep_open_listeners(before->policy(), policy);
  auto prepared = prepare(std::move(policy));
  if (!prepared) return prepared.error();
  const policy::Policy& next = (*prepared)->policy();
  // The last step that can fail.
  auto opened = listeners_->open(next);
  if (!opened) return opened.error();
  if (!same_store(before->policy().store, next.store)) {
    log::warning("reload: store has changed; that takes effect at the next start");
  }
  put_in_force(before->policy(), *prepared);
  listeners_->take(std::move(*opened), next);
  return true;
}

Result<bool> Runtime::change(policy::Policy policy) {
  const auto before = engine_->current();
  keep_open_listeners(before->policy(), policy);
  policy.identity.tokens = before->policy().identity.tokens;
  const auto compiled = compile(std::move(policy));
  if (!compiled) return compiled.error();
  put_in_force(before->policy(), *compiled);
  return true;
}

void Runtime::put_in_force(const policy::Policy& before, const Compiled& next) {
  for (const std::string& limit : limits_that_start_afresh(before, next->policy())) {
    log::info("reload: limit " + limit +
              " counts afresh, since its algorithm or window has changed");
  }
  set_log(next->policy().log);
  engine_->install(next);
  // Loops that rest would keep the policy before until their next request.
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    loops_.at(i).post([engine = engine_.get()] { engine->current(); });
  }
}

admin::Readiness Runtime::readiness() const {
  admin::Readiness readiness;
  readiness.policy = control_.status();
  readiness.reasons = readiness.policy.reasons;
  if (store_.redis && !store_.redis->up()) {
    // What fails open or to a local share still decides.
    const auto current = engine_->current();
    readiness.ready = current->policy().store.on_error != policy::OnError::kDeny;
    readiness.reasons.insert(readiness.reasons.begin(), "store: " + store_.redis->trouble());
  }
  return readiness;
}

}  // namespace weir::app
