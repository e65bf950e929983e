#include "weir/engine.h"

#include <utility>

#include "engine/answer.h"
#include "engine/compiled_policy.h"
#include "engine/refusal_body.h"
#include "engine/sent_attributes.h"
#include "library/engine_core.h"

namespace weir {

using library::EngineCore;

namespace library {
namespace {

// The policy, or everything that is wrong with it.
Result<policy::Policy> usable(policy::Loaded loaded) {
  if (!loaded.policy) {
    Error error{ErrorCode::kInvalid, ""};
    for (const policy::Diagnostic& mistake : loaded.mistakes) {
      if (!error.message.empty()) error.message += '\n';
      error.message += mistake.to_line();
    }
    return error;
  }
  const std::string& url = loaded.policy->store.url;
  if (!url.starts_with("memory:")) {
    return Error{ErrorCode::kUnsupported,
                 loaded.policy->file +
                     ": the store is not in this process; use memory:// here, or "
                     "ask a running weir through its check API"};
  }
  if (loaded.policy->store.snapshot) {
    return Error{ErrorCode::kUnsupported,
                 loaded.policy->file +
                     ": store.snapshot is written by the program weir alone; leave it out here"};
  }
  return *std::move(loaded.policy);
}

policy::Format format_of(Engine::Format format) {
  return format == Engine::Format::kToml ? policy::Format::kToml : policy::Format::kYaml;
}

policy::Loaded load_text(std::string text, Engine::Format format) {
  return policy::load_text("policy", std::move(text), format_of(format));
}

}  // namespace

EngineCore::EngineCore(std::size_t max_keys, const Clock& clock)
    : store_(store::MemoryOptions{.max_keys = max_keys}), engine_(store_), clock_(clock) {}

Result<std::unique_ptr<EngineCore>> EngineCore::make(policy::Loaded loaded,
                                                     const EngineOptions& options) {
  auto policy = usable(std::move(loaded));
  if (!policy) return policy.error();
  const Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
  std::unique_ptr<EngineCore> core(new EngineCore(policy->store.max_keys, clock));
  if (auto installed = core->engine_.install(*std::move(policy)); !installed) {
    return installed.error();
  }
  return core;
}

Result<bool> EngineCore::reload(policy::Loaded loaded) {
  auto policy = usable(std::move(loaded));
  if (!policy) return policy.error();
  const std::lock_guard lock(installing_);
  return engine_.install(*std::move(policy));
}

void EngineCore::check(std::span<const AttributeValue> attributes,
                       std::optional<std::uint64_t> cost, std::optional<Instant> now,
                       const weir::Engine::Done& done) {
  engine::SentAttributes sent;
  if (auto error = read(attributes, sent)) return done(*error);
  engine_.decide(sent, now ? *now : clock_.now(), cost,
                 [&done](engine::Decision decision) { done(shown(std::move(decision))); });
}

std::optional<Error> EngineCore::read(std::span<const AttributeValue> attributes,
                                      engine::SentAttributes& out) const {
  const auto current = engine_.current();
  for (const AttributeValue& attribute : attributes) {
    if (auto bad = out.add(attribute.name, attribute.value, current->policy())) {
      return Error{ErrorCode::kInvalid, bad->field + " " + bad->message};
    }
  }
  return std::nullopt;
}

weir::Decision EngineCore::shown(engine::Decision decision) {
  weir::Decision answer;
  answer.allowed = decision.allowed;
  answer.source = decision.source;
  answer.reason = decision.reason;
  answer.delay = decision.delay;
  if (const engine::LimitDecision* named = decision.named_limit()) {
    answer.limit = named->name;
    answer.verdict = named->verdict;
  }
  for (const engine::LimitDecision& met : decision.limits) {
    answer.limits.push_back(
        {std::string(met.name), met.verdict, met.shadow, met.source, met.reason});
  }
  answer.inner_ = std::make_shared<Decided>(std::move(decision));
  return answer;
}

const engine::Receipt& Decided::receipt() {
  std::call_once(asked_, [this] { receipt_ = engine::Receipt::of(decision); });
  return receipt_;
}

const engine::Receipt* EngineCore::receipt_of(const weir::Decision& decision) {
  if (!decision.inner_ || decision.inner_->receipt().empty()) return nullptr;
  return &decision.inner_->receipt();
}

// Counters in memory answer before the engine returns.
store::Correction EngineCore::correct(const weir::Decision& decision, std::optional<Instant> now,
                                      Correct how) {
  store::Correction made{.outcome = store::Correction::Outcome::kSpent};
  const engine::Receipt* const receipt = receipt_of(decision);
  if (receipt == nullptr) return made;
  (engine_.*how)(*receipt, now ? *now : clock_.now(),
                 [&made](const store::Correction& told) { made = told; });
  return made;
}

store::Correction EngineCore::settle(const weir::Decision& decision, std::uint64_t cost,
                                     std::optional<Instant> now) {
  store::Correction made{.outcome = store::Correction::Outcome::kSpent};
  const engine::Receipt* const receipt = receipt_of(decision);
  if (receipt == nullptr) return made;
  engine_.settle(*receipt, cost, now ? *now : clock_.now(),
                 [&made](const store::Correction& told) { made = told; });
  return made;
}

}  // namespace library

namespace {

bool is_made(const store::Correction& correction) {
  return correction.outcome == store::Correction::Outcome::kMade;
}

}  // namespace

HttpAnswer Decision::http() const {
  HttpAnswer answer;
  if (!inner_) return answer;
  engine::AnswerHeaders headers;
  const engine::Decision& decided = inner_->decision;
  headers.fill(decided);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    answer.headers.emplace_back(headers[i].name, headers[i].value);
  }
  if (allowed) return answer;
  answer.status = engine::refusal_status(decided);
  answer.content_type = engine::append_refusal_body(decided, answer.body);
  return answer;
}

Engine::Engine(std::unique_ptr<EngineCore> core) : core_(std::move(core)) {}
Engine::Engine(Engine&& other) noexcept = default;
Engine& Engine::operator=(Engine&& other) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::from_file(const std::string& path, const EngineOptions& options) {
  auto core = EngineCore::make(policy::load_file(path), options);
  if (!core) return core.error();
  return Engine(*std::move(core));
}

Result<Engine> Engine::from_text(std::string text, Format format, const EngineOptions& options) {
  auto core = EngineCore::make(library::load_text(std::move(text), format), options);
  if (!core) return core.error();
  return Engine(*std::move(core));
}

Result<Decision> Engine::check(std::span<const AttributeValue> attributes,
                               std::optional<std::uint64_t> cost, std::optional<Instant> now) {
  std::optional<Result<Decision>> told;
  core_->check(attributes, cost, now,
               [&told](Result<Decision> answer) { told = std::move(answer); });
  return *std::move(told);
}

void Engine::check_async(std::span<const AttributeValue> attributes,
                         std::optional<std::uint64_t> cost, Done done) {
  core_->check(attributes, cost, std::nullopt, done);
}

bool Engine::settle(const Decision& decision, std::uint64_t cost, std::optional<Instant> now) {
  return is_made(core_->settle(decision, cost, now));
}

bool Engine::refund(const Decision& decision, std::optional<Instant> now) {
  return is_made(core_->correct(decision, now, &engine::Engine::refund));
}

bool Engine::release(const Decision& decision, std::optional<Instant> now) {
  return core_->correct(decision, now, &engine::Engine::release).found > 0;
}

bool Engine::renew(const Decision& decision, std::optional<Instant> now) {
  return core_->correct(decision, now, &engine::Engine::renew).found > 0;
}

Result<bool> Engine::reload_file(const std::string& path) {
  return core_->reload(policy::load_file(path));
}

Result<bool> Engine::reload_text(std::string text, Format format) {
  return core_->reload(library::load_text(std::move(text), format));
}

}  // namespace weir
