#include "app/denial_log.h"

#include <string>
#include <vector>

#include "base/log.h"
#include "engine/compiled_policy.h"
#include "engine/metrics.h"
#include "wire/http1/trace_context.h"

namespace weir::app {
namespace {

using policy::Attribute;
using Kind = Attribute::Kind;

constexpr std::size_t kMaxValue = 256;

struct Named {
  const char* name;
  Attribute attribute;
  bool who = false;  // says who the client is
};

const std::vector<Named>& attributes_shown() {
  static const std::vector<Named> shown = {
      {"method", {Kind::kMethod, {}}},
      {"host", {Kind::kHost, {}}},
      {"path", {Kind::kPath, {}}},
      {"tier", {Kind::kTier, {}}},
      {"domain", {Kind::kDomain, {}}},
      {"user", {Kind::kUser, {}}, true},
      {"request_id", {Kind::kHeader, "x-request-id"}},
  };
  return shown;
}

// The line's fields and what they point to.
class Fields {
 public:
  void add(const char* name, std::string value, log::Text text = log::Text::kAny) {
    if (value.size() > kMaxValue) value.replace(kMaxValue, std::string::npos, "...");
    kept_.push_back({name, std::move(value), text});
  }
  void write(const char* message) const {
    std::vector<log::Field> fields;
    for (const Kept& one : kept_) fields.push_back({one.name, one.value, one.text});
    log::record(message, fields);
  }

 private:
  struct Kept {
    const char* name;
    std::string value;
    log::Text text;
  };

  std::vector<Kept> kept_;
};

void add_limit(Fields& fields, const engine::Engine& engine, const engine::Decision& decision,
               policy::KeyForm form) {
  const engine::LimitDecision* named = decision.named_limit();
  if (named == nullptr) return;
  fields.add("limit", std::string(named->name));
  if (form != policy::KeyForm::kOff && engine.metrics() != nullptr && named->key_size > 0) {
    fields.add("key", engine.metrics()->denied_keys().show(named->name, decision.key_of(*named)),
               log::Text::kEscaped);
  }
  const bool has_wait = named->verdict.outcome == Outcome::kDenied && named->verdict.retry_known;
  if (has_wait) {
    fields.add(
        "retry_after",
        std::to_string(
            std::chrono::ceil<std::chrono::milliseconds>(named->verdict.retry_after).count()) +
            "ms");
  }
}

void add_attributes(Fields& fields, const engine::Attributes& attributes, bool show_who) {
  for (const Named& one : attributes_shown()) {
    if (one.who && !show_who) continue;
    if (const auto value = attributes.find(one.attribute))
      fields.add(one.name, std::string(*value));
  }
  const auto trace = attributes.find({Kind::kHeader, "traceparent"});
  if (const auto id = http1::trace_id_of(trace.value_or(std::string_view()))) {
    fields.add("trace_id", std::string(*id));
  }
  const auto ip = show_who ? attributes.ip() : std::nullopt;
  if (ip) fields.add("ip", ip->to_string());
}

}  // namespace

void DenialLog::denied(const engine::Attributes& attributes, const engine::Decision& decision) {
  const policy::Policy& policy = decision.policy->policy();
  if (policy.log.denials == 0 || !lines_.take(decision.at.steady_ns, policy.log.denials)) return;
  Fields fields;
  add_limit(fields, engine_, decision, policy.metrics.keys);
  fields.add("source", std::string(to_string(decision.source)));
  if (decision.reason != Reason::kNone)
    fields.add("reason", std::string(to_string(decision.reason)));
  add_attributes(fields, attributes, policy.metrics.keys == policy::KeyForm::kPlain);
  const std::uint64_t left_out = lines_.take_left_out();
  if (left_out > 0) fields.add("left_out", std::to_string(left_out));
  fields.write("refused");
}

}  // namespace weir::app
