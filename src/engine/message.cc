#include "engine/message.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/answer.h"
#include "engine/compiled_policy.h"

namespace weir::engine {
namespace {

using Kind = policy::Attribute::Kind;

// Collects pointers, each once.
class Pointers {
 public:
  explicit Pointers(std::vector<std::string>& out) : out_(out) {}

  void add(const policy::Attribute& attribute) {
    if (attribute.kind != Kind::kMessagePointer) return;
    if (std::find(out_.begin(), out_.end(), attribute.name) == out_.end()) {
      out_.push_back(attribute.name);
    }
  }
  void add(const policy::Match& match) {
    for (const policy::Condition& condition : match.conditions) add(condition.attribute);
  }
  void add(const policy::Limit& limit) {
    if (limit.match) add(*limit.match);
    for (const policy::Match& except : limit.except) add(except);
    for (const policy::KeyPart& part : limit.key) {
      for (const policy::Attribute& attribute : part.alternatives) add(attribute);
    }
    if (limit.cost.from) add(*limit.cost.from);
  }

 private:
  std::vector<std::string>& out_;
};

std::string_view text_of(const Decision& decision) {
  if (decision.reason == Reason::kLimiterUnavailable) return "the rate limiter cannot decide now";
  if (decision.reason == Reason::kCostExceedsLimit) {
    return "the message costs more than the limit can ever hold";
  }
  if (decision.reason == Reason::kMissingKey) return "the message lacks what the limit counts by";
  if (decision.reason == Reason::kBlocked) return "blocked";
  if (decision.reason == Reason::kBanned) return "banned";
  return "rate limited";
}

}  // namespace

MessageSchema::MessageSchema(const policy::Policy& policy)
    : pointers_{policy.websocket.kind, policy.websocket.request_id} {
  Pointers pointers(pointers_);
  for (const policy::Limit& limit : policy.limits) pointers.add(limit);
  for (const policy::Match& exempt : policy.exempt) pointers.add(exempt);
  for (const policy::Block& block : policy.block) pointers.add(block.match);
  fields_ = JsonFields(pointers_);
}

Result<bool> Message::read(std::shared_ptr<const CompiledPolicy> policy, std::string_view text) {
  const Result<bool> read = policy->messages().fields_.read(text, values_);
  policy_ = read ? std::move(policy) : nullptr;
  return read;
}

const JsonScalar* Message::value(std::size_t index) const {
  return policy_ != nullptr && values_[index].has_text() ? &values_[index] : nullptr;
}

std::string Message::request_id() const {
  std::string out;
  const JsonScalar* id = value(MessageSchema::kRequestId);
  if (id != nullptr && id->text.size() <= kMaxRequestId) append_json(out, *id);
  return out.empty() ? "null" : out;
}

std::optional<std::string_view> Message::find(const policy::Attribute& attribute) const {
  const auto text = [this](std::size_t index) -> std::optional<std::string_view> {
    const JsonScalar* found = value(index);
    if (found == nullptr) return std::nullopt;
    return std::string_view(found->text);
  };
  if (attribute.kind == Kind::kMessage) return text(MessageSchema::kKind).value_or("");
  if (attribute.kind != Kind::kMessagePointer) return connection_.find(attribute);
  if (policy_ == nullptr) return std::nullopt;
  const auto& pointers = policy_->messages().pointers_;
  const auto found = std::find(pointers.begin(), pointers.end(), attribute.name);
  if (found == pointers.end()) return std::nullopt;
  return text(static_cast<std::size_t>(found - pointers.begin()));
}

void append_message_refusal(const Decision& decision, std::string_view request_id,
                            std::string& out) {
  WEIR_CHECK(!decision.allowed, "only a refused message is told that it was");
  const bool unavailable = decision.reason == Reason::kLimiterUnavailable;
  const auto retry_after = retry_after_seconds(decision);
  out += R"({"type":"error","code":")";
  out += refusal_code(decision);
  out += R"(","request_id":)";
  out += request_id;
  out += R"(,"message":")";
  out += text_of(decision);
  if (retry_after) out += ", retry after " + std::to_string(*retry_after) + 's';
  out += R"(","retry_after":)";
  out += retry_after ? std::to_string(*retry_after) : "null";
  if (decision.reason != Reason::kNone && !unavailable) {
    out += R"(,"reason":")";
    out += to_string(decision.reason);
    out += '"';
  }
  out += '}';
}

void append_unreadable_refusal(std::string_view why, std::string& out) {
  out += R"({"type":"error","code":"UNREADABLE_MESSAGE","request_id":null,"message":")";
  out += why;
  out += R"(","retry_after":null})";
}

}  // namespace weir::engine
