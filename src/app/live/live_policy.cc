#include "app/live/live_policy.h"

#include <utility>

#include "app/live/fingerprint.h"
#include "app/live/last_good.h"
#include "app/live/remote_store.h"
#include "base/log.h"
#include "engine/compiled_policy.h"
#include "policy/print.h"
#include "policy/value_list.h"

namespace weir::app {
namespace {

std::vector<std::string> lines_of(const std::vector<policy::Diagnostic>& found) {
  std::vector<std::string> lines;
  lines.reserve(found.size());
  for (const policy::Diagnostic& one : found) lines.push_back(one.to_line());
  return lines;
}

}  // namespace

LivePolicy::LivePolicy(net::Loop& control, std::unique_ptr<PolicySource> source,
                       std::string last_good)
    : loop_(control),
      source_(std::move(source)),
      keeper_(keep_overlay_in_file("")),
      expiry_(control.executor()),
      // WHY posted: the reload may end this watch.
      named_(control, [this] { loop_.post([this] { reload("a file that it names"); }); }) {
  if (source_ && source_->is_remote()) last_good_.emplace(std::move(last_good), source_->name());
}

LivePolicy::~LivePolicy() = default;

// What the source has, or the copy of it where the source does not answer.
Result<policy::PolicyText> LivePolicy::read_first() {
  std::optional<Result<policy::PolicyText>> read;
  source_->read([&read](Result<policy::PolicyText> text) { read = std::move(text); });
  loop_.run_until([&read] { return read.has_value(); });
  if (*read && last_good_) first_text_ = (*read)->text;
  if (*read || !last_good_ || read->error().code != ErrorCode::kUnavailable) return *read;
  auto kept = last_good_->read(source_->name());
  if (!kept) {
    return Error{ErrorCode::kIo, read->error().message + "; and " + kept.error().message};
  }
  trouble_ = read->error().message + ": started from the last good policy, " + last_good_->file();
  log::warning("policy: " + trouble_);
  return kept;
}

// A place of the fleet's that does not answer, or refuses, does so later too, or not: a start does
// not hang on it. A file of changes that cannot be read does not mend itself, and a start without
// it would forget them.
std::optional<Error> LivePolicy::load_entries() {
  auto keeper = open_overlay(loop_, *source_, base_.policy);
  if (!keeper) return keeper.error();
  keeper_ = std::move(*keeper);
  std::optional<Result<overlay::Entries>> kept;
  keeper_->load([&kept](Result<overlay::Entries> entries) { kept = std::move(entries); });
  loop_.run_until([&kept] { return kept.has_value(); });
  if (*kept) {
    entries_ = std::move(**kept);
  } else if (kept->error().code == ErrorCode::kIo) {
    return kept->error();
  } else {
    log::warning("policy: what the fleet has changed is not known: " + kept->error().message);
  }
  return std::nullopt;
}

policy::Loaded LivePolicy::load_first() {
  policy::Loaded loaded;
  Result<policy::PolicyText> text = read_first();
  if (!text) {
    loaded.mistakes.push_back({source_->name(), {}, text.error().message, "", "", 0});
    return loaded;
  }
  base_.hash = fingerprint(text->text);
  loaded = policy::load(std::move(*text));
  if (!loaded.policy) return loaded;
  base_.policy = *loaded.policy;
  base_.tree = loaded.tree;
  status_.source = source_->name();
  if (const std::optional<Error> error = load_entries()) {
    loaded.policy.reset();
    loaded.mistakes.push_back({source_->name(), {}, error->message, "", "", 0});
    return loaded;
  }
  const std::int64_t now_ns = SystemClock().now().wall_ns;  // where a test's clock begins, too
  overlay::Applied applied = overlay::apply(base_.policy, *base_.tree, entries_, now_ns);
  loaded.policy = applied.policy;
  now_in_force(base_.hash, std::move(applied), /*news=*/false);
  return loaded;
}

void LivePolicy::use(const policy::Policy& policy) {
  base_.policy = policy;
  status_.source = policy.file;
}

void LivePolicy::start(Services services) {
  services_.emplace(std::move(services));
  {
    std::lock_guard lock(mutex_);
    status_.generation = 1;
    status_.loaded_at_ns = services_->clock.now().wall_ns;
    status_.persistent = keeper_->persistent();
  }
  metrics::Registry& registry = services_->registry;
  registry.gauge("weir_config_generation", "How often the policy in force has changed, from 1.", {},
                 [this] { return static_cast<double>(status().generation); });
  registry.gauge("weir_config_loaded_timestamp_seconds",
                 "Unix time at which the policy in force was loaded.", {},
                 [this] { return static_cast<double>(status().loaded_at_ns) / 1e9; });
  if (!source_) return;
  if (!first_text_.empty()) last_good_->write(std::exchange(first_text_, {}));
  keeper_->watch([this](overlay::Entries entries) { take_entries(std::move(entries)); });
  arm_expiry();
  watch_named();
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
  const bool away = !text && last_good_ && text.error().code == ErrorCode::kUnavailable;
  if (watched && away) return;  // it is watched again once it answers
  if (!text) {
    if (watched && text.error().message == refused_) return;
    refused_ = text.error().message;
    return refuse({source_->name() + ": " + text.error().message}, cause, done);
  }
  set_trouble({});
  const std::string hash = fingerprint(text->text);
  if (watched && hash == refused_) return;
  if (watched && hash == base_.hash && refused_.empty()) return;
  refused_ = hash;
  const std::string copy = last_good_ ? text->text : std::string();
  policy::Loaded loaded = policy::load(std::move(*text));
  for (const std::string& line : lines_of(loaded.warnings)) log::warning(line);
  if (!loaded.policy) return refuse(lines_of(loaded.mistakes), cause, done);
  Base base{std::move(*loaded.policy), std::move(loaded.tree), hash};
  const Result<bool> installed = install(base, entries_, /*news=*/hash != base_.hash);
  if (!installed) return refuse({installed.error().message}, cause, done);
  base_ = std::move(base);
  watch_named();
  forget_refusal();
  if (last_good_) last_good_->write(copy);
  count("ok");
  const std::string what = source_->name() + " is in force, generation " +
                           std::to_string(status().generation) + ", " + hash;
  log::info("reload: " + what + ", by: " + cause);
  done({});
}

// Puts the base in force with the entries applied; without them where they cannot be held with it.
// `news`: it is another policy than the one before.
Result<bool> LivePolicy::install(const Base& base, const overlay::Entries& entries, bool news) {
  const std::int64_t now_ns = services_->clock.now().wall_ns;
  overlay::Applied applied = overlay::apply(base.policy, *base.tree, entries, now_ns);
  Result<bool> installed = put(base, applied.policy);
  if (!installed && applied.in_force > 0) {
    const std::string reason = installed.error().message;
    installed = put(base, base.policy);
    applied = {base.policy, {"all changes: " + reason}, 0};
  }
  if (!installed) return installed;
  now_in_force(base.hash, std::move(applied), news);
  return true;
}

// The same for changes of ours, which can be refused: all of them, or nothing.
Result<bool> LivePolicy::install_whole(const overlay::Entries& entries) {
  const std::int64_t now_ns = services_->clock.now().wall_ns;
  overlay::Applied applied = overlay::apply(base_.policy, *base_.tree, entries, now_ns);
  Result<bool> installed = put(base_, applied.policy);
  if (installed) now_in_force(base_.hash, std::move(applied), /*news=*/true);
  return installed;
}

Result<bool> LivePolicy::put(const Base& base, policy::Policy policy) {
  const bool same = &base == &base_;
  return same ? services_->change(std::move(policy)) : services_->install(std::move(policy));
}

void LivePolicy::now_in_force(const std::string& hash, overlay::Applied applied, bool news) {
  for (const std::string& entry : applied.set_aside) log::warning("set aside: " + entry);
  std::lock_guard lock(mutex_);
  if (news) ++status_.generation;
  status_.hash = hash;
  status_.changes = applied.in_force;
  if (services_) status_.loaded_at_ns = services_->clock.now().wall_ns;
  set_aside_ = std::move(applied.set_aside);
}

void LivePolicy::forget_refusal() {
  refused_.clear();
  std::lock_guard lock(mutex_);
  status_.reasons.clear();
}

void LivePolicy::set_trouble(std::string trouble) {
  std::lock_guard lock(mutex_);
  trouble_ = std::move(trouble);
}

// What they hold is taken by reading the policy again, since that reads them.
void LivePolicy::watch_named() {
  const policy::Policy& policy = base_.policy;
  std::vector<std::string> files = policy::listed_files(policy);
  if (policy.identity.jwt) files.push_back(policy.identity.jwt->keys);
  if (policy.response.body_template) files.push_back(policy.response.template_file);
  named_.watch(std::move(files));
}

void LivePolicy::count(std::string_view result) {
  services_->registry
      .counter("weir_config_reloads_total", "Reloads by result.", {{"result", std::string(result)}})
      .add();
}

void LivePolicy::refuse(std::vector<std::string> reasons, const std::string& cause,
                        const Done& done) {
  count("refused");
  {
    std::lock_guard lock(mutex_);
    status_.reasons.clear();
    for (const std::string& reason : reasons) {
      status_.reasons.push_back("the last reload was refused: " + reason);
    }
  }
  for (const std::string& reason : reasons) log::error("reload refused: " + reason);
  log::error("reload refused: the policy of generation " + std::to_string(status().generation) +
             " stays in force, by: " + cause);
  done(admin::Outcome::refusal(422, "the policy was refused, and the one before it stays in force",
                               std::move(reasons)));
}

admin::PolicyStatus LivePolicy::status() const {
  std::lock_guard lock(mutex_);
  admin::PolicyStatus status = status_;
  if (!trouble_.empty()) status.reasons.push_back(trouble_);
  for (const std::string& entry : set_aside_) {
    status.reasons.push_back("a change is set aside: " + entry);
  }
  return status;
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

void LivePolicy::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  loop_.run_ready();
}

}  // namespace weir::app
