#include "app/live/live_policy.h"

#include <utility>

#include "app/live/fingerprint.h"
#include "base/log.h"
#include "engine/compiled_policy.h"
#include "policy/print.h"

namespace weir::app {
namespace {

std::vector<std::string> lines_of(const std::vector<policy::Diagnostic>& found) {
  std::vector<std::string> lines;
  lines.reserve(found.size());
  for (const policy::Diagnostic& one : found) lines.push_back(one.to_line());
  return lines;
}

}  // namespace

LivePolicy::LivePolicy(net::Loop& control, std::unique_ptr<PolicySource> source)
    : loop_(control), source_(std::move(source)) {}

LivePolicy::~LivePolicy() = default;

policy::Loaded LivePolicy::load_first() {
  std::optional<Result<policy::PolicyText>> read;
  source_->read([&read](Result<policy::PolicyText> text) { read = std::move(text); });
  loop_.run_until([&read] { return read.has_value(); });
  policy::Loaded loaded;
  if (!*read) {
    loaded.mistakes.push_back({source_->name(), {}, read->error().message, "", "", 0});
    return loaded;
  }
  status_.source = source_->name();
  status_.hash = fingerprint((*read)->text);
  loaded = policy::load(std::move(**read));
  if (loaded.policy) base_ = *loaded.policy;
  return loaded;
}

void LivePolicy::use(const policy::Policy& policy) {
  base_ = policy;
  status_.source = policy.file;
}

void LivePolicy::start(Services services) {
  services_.emplace(std::move(services));
  {
    std::lock_guard lock(mutex_);
    status_.generation = 1;
    status_.loaded_at_ns = services_->clock.now().wall_ns;
  }
  metrics::Registry& registry = services_->registry;
  registry.gauge("weir_config_generation", "How often the policy in force has changed, from 1.", {},
                 [this] { return static_cast<double>(status().generation); });
  registry.gauge("weir_config_loaded_timestamp_seconds",
                 "Unix time at which the policy in force was loaded.", {},
                 [this] { return static_cast<double>(status().loaded_at_ns) / 1e9; });
  if (!source_) return;
  watch_keys();
  source_->watch([this] { look(); });
  look();  // it may have changed before it was watched
}

void LivePolicy::look() {
  source_->read([this](Result<policy::PolicyText> text) {
    take(std::move(text), "it has changed", /*watched=*/true, [](const admin::Outcome&) {});
  });
}

void LivePolicy::reload(const std::string& cause, Done done) {
  if (!source_) {
    log::warning("reload: by " + cause + ": there is no policy file to read again");
    return done(admin::Outcome::refusal(
        409, "the policy came from the command line: there is no file to read again"));
  }
  source_->read([this, cause, done = std::move(done)](Result<policy::PolicyText> text) {
    take(std::move(text), cause, /*watched=*/false, done);
  });
}

// `watched`: nobody asked; the same text again is no news.
void LivePolicy::take(Result<policy::PolicyText> text, const std::string& cause, bool watched,
                      const Done& done) {
  if (!text) return refuse({source_->name() + ": " + text.error().message}, done);
  const std::string hash = fingerprint(text->text);
  const admin::PolicyStatus before = status();
  if (watched && hash == refused_hash_) return;
  if (watched && hash == before.hash && refused_hash_.empty()) return;
  refused_hash_ = hash;
  policy::Loaded loaded = policy::load(std::move(*text));
  for (const std::string& line : lines_of(loaded.warnings)) log::warning(line);
  if (!loaded.policy) return refuse(lines_of(loaded.mistakes), done);
  const Result<bool> installed = install_base(std::move(*loaded.policy), hash);
  if (!installed) return refuse({installed.error().message}, done);
  refused_hash_.clear();
  count("ok");
  log::info("reload: " + source_->name() + " is in force, generation " +
            std::to_string(status().generation) + ", " + hash + ", by: " + cause);
  done({});
}

Result<bool> LivePolicy::install_base(policy::Policy base, const std::string& hash) {
  const Result<bool> installed = services_->install(base);
  if (!installed) return installed.error();
  base_ = std::move(base);
  watch_keys();
  std::lock_guard lock(mutex_);
  if (status_.hash != hash) ++status_.generation;
  status_.hash = hash;
  status_.loaded_at_ns = services_->clock.now().wall_ns;
  status_.reasons.clear();
  return true;
}

// New keys are taken by reading the policy again, since that reads them.
void LivePolicy::watch_keys() {
  const auto& jwt = base_.identity.jwt;
  const std::string file = jwt ? jwt->keys : "";
  if (file == keys_file_) return;
  keys_file_ = file;
  keys_watch_.reset();
  if (file.empty()) return;
  // WHY posted: the reload may end this watch.
  keys_watch_ = std::make_unique<FileWatch>(
      loop_, file, [this] { loop_.post([this] { reload(keys_file_ + " has changed"); }); });
}

void LivePolicy::count(std::string_view result) {
  services_->registry
      .counter("weir_config_reloads_total", "Reloads by result.", {{"result", std::string(result)}})
      .add();
}

void LivePolicy::refuse(std::vector<std::string> reasons, const Done& done) {
  count("refused");
  for (const std::string& reason : reasons) log::error("reload refused: " + reason);
  log::error("reload refused: the policy of generation " + std::to_string(status().generation) +
             " stays in force");
  {
    std::lock_guard lock(mutex_);
    status_.reasons.clear();
    for (const std::string& reason : reasons) {
      status_.reasons.push_back("the last reload was refused: " + reason);
    }
  }
  done({422, "the policy was refused, and the one before it stays in force", "",
        std::move(reasons)});
}

admin::PolicyStatus LivePolicy::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void LivePolicy::run(admin::Change change, Done done) {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_) {
      loop_.post(
          [this, change = std::move(change), done = std::move(done)] { obey(change, done); });
      return;
    }
  }
  done(admin::Outcome::refusal(503, "the program ends"));
}

void LivePolicy::obey(admin::Change change, const Done& done) {
  switch (change.verb) {
    case admin::Change::Verb::kShow:
      return done({200, "", policy::print_yaml(services_->engine.current()->policy()), {}});
    case admin::Change::Verb::kReload:
      return reload("POST /v1/policy:reload from " + change.who, done);
  }
}

void LivePolicy::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  loop_.run_ready();
}

}  // namespace weir::app
