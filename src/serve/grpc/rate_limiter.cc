#include "serve/grpc/rate_limiter.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/at_rest.h"
#include "engine/compiled_policy.h"
#include "engine/receipt.h"
#include "engine/sent_attributes.h"
#include "serve/grpc/current_limit.h"
#include "serve/grpc/rate_limit_answer.h"

namespace weir::grpc {
namespace {

using policy::Attribute;

std::optional<Attribute> attribute_of(const rls::Entry& entry, const policy::Policy& policy) {
  if (policy.grpc && !policy.grpc->attributes.empty()) {
    const auto renamed = policy.grpc->attributes.find(std::string(entry.key));
    if (renamed != policy.grpc->attributes.end()) return renamed->second;
  }
  return policy::parse_attribute(entry.key, policy.attributes);
}

bool has(const engine::SentAttributes& attributes, const Attribute& attribute) {
  if (attribute.kind == Attribute::Kind::kIp) return attributes.ip().has_value();
  return attributes.find(attribute).has_value();
}

// What is wrong with a descriptor, or nothing.
std::optional<std::string> read_attributes(const rls::Request& request,
                                           const rls::Descriptor& descriptor,
                                           const policy::Policy& policy,
                                           engine::SentAttributes& out) {
  (void)out.add(Attribute{Attribute::Kind::kDomain, {}}, request.domain, policy);
  for (const rls::Entry& entry : descriptor.entries) {
    const auto attribute = attribute_of(entry, policy);
    if (!attribute || has(out, *attribute)) continue;
    if (const auto bad = out.add(*attribute, entry.value, policy)) {
      return "descriptor entry " + std::string(entry.key) + ": " + bad->message;
    }
  }
  return std::nullopt;
}

// Entries that no limit can mean: none at all, or one without a key.
bool is_void(const rls::Descriptor& descriptor) {
  const auto& entries = descriptor.entries;
  return entries.empty() || std::any_of(entries.begin(), entries.end(),
                                        [](const rls::Entry& e) { return e.key.empty(); });
}

void append_netstring(std::string& out, std::string_view bytes) {
  out += std::to_string(bytes.size());
  out += ':';
  out += bytes;
  out += ',';
}

// Whom an override counts: the domain, every entry, and the numbers themselves, since each set of
// numbers has its own counter.
std::string override_key(const rls::Request& request, const rls::Descriptor& descriptor) {
  std::string key;
  append_netstring(key, request.domain);
  for (const rls::Entry& entry : descriptor.entries) {
    append_netstring(key, entry.key);
    append_netstring(key, entry.value);
  }
  key += std::to_string(descriptor.limit->requests_per_unit);
  key += '/';
  key += rls::to_string(descriptor.limit->unit);
  return key;
}

std::optional<std::uint64_t> cost_of(const rls::Request& request,
                                     const rls::Descriptor& descriptor) {
  if (descriptor.hits_addend) return descriptor.hits_addend;
  if (request.hits_addend > 0) return request.hits_addend;
  return std::nullopt;
}

constexpr std::string_view kOverrideFamily = "~rls";
constexpr std::size_t kMaxKeptBytes = 4096;
constexpr std::size_t kMaxKeptDescriptors = 8;

}  // namespace

// Lives from the question to the last descriptor's answer.
struct RateLimiter::Call {
  std::string bytes;  // of the message; the request's views stand in it
  rls::Request request;
  std::vector<engine::SentAttributes> attributes;
  std::vector<DescriptorAnswer> answers;  // the first of them, one for each descriptor
  rls::Response response;
  std::size_t waiting = 0;
  std::int64_t began = engine::DecisionTimer::kNotTimed;
  Done done;

  // What a large call has used goes.
  void clear() {
    if (bytes.capacity() > kMaxKeptBytes) bytes = {};
    request = {};
    if (attributes.size() > kMaxKeptDescriptors) attributes = {};
    for (engine::SentAttributes& one : attributes) one.clear();
    if (answers.size() > kMaxKeptDescriptors) {
      answers = {};
      response = {};
    }
    for (DescriptorAnswer& one : answers) one.clear();
    response.clear();
    done = nullptr;
  }
};

RateLimiter::RateLimiter(engine::Engine& engine, engine::Adhoc& adhoc, const Clock& clock,
                         metrics::Registry& registry)
    : engine_(engine),
      adhoc_(adhoc),
      clock_(clock),
      requests_(registry, "grpc"),
      timer_(registry, "grpc", clock) {}

void RateLimiter::decide(std::string_view message, Done done) const {
  Call* const call = AtRest<Call>::take().release();  // finish() takes it back
  call->bytes = message;
  call->done = std::move(done);
  auto request = rls::read_request(call->bytes);
  if (!request) return finish(call, request.error());
  call->request = *std::move(request);
  const auto invalid = [&](std::string text) {
    finish(call, Error{ErrorCode::kInvalid, std::move(text)});
  };
  if (call->request.domain.empty()) return invalid("rate limit domain must not be empty");
  if (call->request.descriptors.empty()) {
    return invalid("rate limit descriptor list must not be empty");
  }
  const std::size_t count = call->request.descriptors.size();
  if (call->attributes.size() < count) call->attributes.resize(count);
  if (call->answers.size() < count) call->answers.resize(count);
  const auto policy = engine_.current();
  for (std::size_t i = 0; i < count; ++i) {
    const rls::Descriptor& descriptor = call->request.descriptors[i];
    call->attributes[i].never_released();
    auto bad = read_attributes(call->request, descriptor, policy->policy(), call->attributes[i]);
    if (bad) return invalid(*std::move(bad));
    if (descriptor.limit && descriptor.limit->unit == rls::Unit::kUnknown) {
      return invalid("descriptor limit has no unit: SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
    }
  }
  start(*call);
}

// Asks for all descriptors at once, so that their questions to a store travel together.
void RateLimiter::start(Call& call) const {
  const std::size_t count = call.request.descriptors.size();
  call.waiting = count + 1;
  call.began = timer_.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const rls::Descriptor& descriptor = call.request.descriptors[i];
    if (is_void(descriptor)) {
      --call.waiting;
    } else if (descriptor.limit) {
      ask_override(call, i);
    } else {
      ask_engine(call, i);
    }
  }
  answered(call);
}

void RateLimiter::ask_engine(Call& call, std::size_t index) const {
  const auto cost = cost_of(call.request, call.request.descriptors[index]);
  engine_.decide(call.attributes[index], clock_.now(), cost,
                 [this, &call, index](engine::Decision&& decision) {
                   // WHY swapped: the engine goes on with the memory of the one before.
                   std::swap(call.answers[index].decision, decision);
                   call.answers[index].decided = true;
                   answered(call);
                 });
}

void RateLimiter::ask_override(Call& call, std::size_t index) const {
  const rls::Descriptor& descriptor = call.request.descriptors[index];
  DescriptorAnswer& answer = call.answers[index];
  answer.limit = descriptor.limit;
  answer.key = override_key(call.request, descriptor);
  answer.cost = cost_of(call.request, descriptor).value_or(1);
  const auto asked =
      adhoc_.decide({kOverrideFamily, answer.key, bucket_of(*descriptor.limit), answer.cost},
                    clock_.now(), [this, &call, index](const store::Answer& told) {
                      call.answers[index].told = told;
                      answered(call);
                    });
  // 32 bits of requests per unit always fit: at most a year from empty to full.
  if (!asked) answered(call);
}

void RateLimiter::answered(Call& call) const {
  if (--call.waiting > 0) return;
  timer_.end(call.began);
  const auto policy = engine_.current();
  const bool atomic = policy->policy().grpc && policy->policy().grpc->atomic;
  const auto answers = std::span(call.answers).first(call.request.descriptors.size());
  const bool over = std::any_of(answers.begin(), answers.end(),
                                [](const DescriptorAnswer& a) { return a.is_refused(); });
  if (over && atomic) give_back(call);
  const auto made = make_response(
      answers, {policy, engine_.instances(), clock_.now(), over && atomic}, call.response);
  made ? finish(&call, std::cref(call.response)) : finish(&call, made.error());
}

void RateLimiter::give_back(const Call& call) const {
  const Instant now = clock_.now();
  for (const DescriptorAnswer& answer : call.answers) {
    if (answer.is_refused()) continue;
    if (answer.decided) engine_.refund(engine::Receipt::of(answer.decision), now);
    if (!answer.told || answer.cost == 0) continue;
    (void)adhoc_.decide(
        {kOverrideFamily, answer.key, bucket_of(*answer.limit), answer.cost, /*refund=*/true}, now,
        [](const store::Answer&) {});
  }
}

void RateLimiter::finish(Call* call, const Answer& answer) const {
  std::unique_ptr<Call> owned(call);
  if (!answer) {
    requests_.error.add();
  } else {
    requests_.count(answer->get().overall_code == rls::Code::kOk);
  }
  call->done(answer);
  AtRest<Call>::give(std::move(owned));
}

Method rate_limit_method(const RateLimiter& limiter) {
  const auto handle = [&limiter](std::string_view message, const Reply& reply) {
    limiter.decide(message, [reply](const RateLimiter::Answer& answer) {
      if (!answer) {
        const bool wrong = answer.error().code != ErrorCode::kUnavailable;
        return reply.end(wrong ? Status::kInvalidArgument : Status::kUnavailable,
                         answer.error().message);
      }
      static thread_local std::string bytes;
      bytes.clear();
      rls::append_response(bytes, *answer);
      reply.finish(bytes);
    });
  };
  return {"/" + std::string(kRateLimitService) + "/ShouldRateLimit", Kind::kUnary, handle};
}

}  // namespace weir::grpc
