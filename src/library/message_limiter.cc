#include "weir/message_limiter.h"

#include <utility>

#include "engine/compiled_policy.h"
#include "engine/message.h"
#include "engine/sent_attributes.h"
#include "library/engine_core.h"

namespace weir {

namespace library {

class MessageCore {
 public:
  explicit MessageCore(EngineCore& engine) : engine_(engine), message_(connection_) {}

  std::optional<Error> know(std::span<const AttributeValue> connection) {
    return engine_.read(connection, connection_);
  }

  MessageRuling check(std::string_view text, std::optional<Instant> now) {
    auto policy = engine_.engine().current();
    const policy::WebSocket& settings = policy->policy().websocket;
    const policy::Unreadable unreadable = settings.unreadable;
    const bool too_long = text.size() > settings.max_inspect;
    const std::uint32_t close_after = settings.close_after;
    if (too_long) message_.clear();
    const bool read = !too_long && message_.read(std::move(policy), text);
    if (!read && unreadable == policy::Unreadable::kClose) return closed(too_long);
    MessageRuling ruling =
        read || unreadable == policy::Unreadable::kPass ? decide(now) : refused_unread(too_long);
    message_.clear();
    count(ruling, close_after);
    return ruling;
  }

  std::uint64_t max_inspect() const {
    return engine_.engine().current()->policy().websocket.max_inspect;
  }

 private:
  static MessageRuling closed(bool too_long) {
    MessageRuling ruling;
    ruling.action = MessageRuling::Action::kClose;
    ruling.close_code = too_long ? engine::kCloseTooLong : engine::kCloseNotReadable;
    ruling.close_reason = too_long ? engine::kTooLong : engine::kNotReadable;
    return ruling;
  }

  static MessageRuling refused_unread(bool too_long) {
    MessageRuling ruling;
    ruling.action = MessageRuling::Action::kRefuse;
    engine::append_unreadable_refusal(too_long ? engine::kTooLong : engine::kNotReadable,
                                      ruling.reply);
    return ruling;
  }

  MessageRuling decide(std::optional<Instant> now) {
    MessageRuling ruling;
    engine_.engine().decide(
        message_, now ? *now : engine_.clock().now(), std::nullopt, [&](engine::Decision decision) {
          ruling.delay = decision.delay;
          if (!decision.allowed) {
            ruling.action = MessageRuling::Action::kRefuse;
            engine::append_message_refusal(decision, message_.request_id(), ruling.reply);
          }
          ruling.decision = EngineCore::shown(std::move(decision));
        });
    return ruling;
  }

  // Refusals in a row; a message that a limit counts and admits begins the row anew.
  void count(MessageRuling& ruling, std::uint32_t close_after) {
    if (ruling.passes()) {
      if (!ruling.decision.limit.empty()) refused_ = 0;
      return;
    }
    if (++refused_ < close_after || close_after == 0) return;
    ruling.action = MessageRuling::Action::kClose;
    ruling.close_code = engine::kCloseTooManyRefused;
    ruling.close_reason = engine::kTooManyRefused;
  }

  EngineCore& engine_;
  engine::SentAttributes connection_;
  engine::Message message_;
  std::uint32_t refused_ = 0;
};

}  // namespace library

MessageLimiter::MessageLimiter(std::unique_ptr<library::MessageCore> core)
    : core_(std::move(core)) {}
MessageLimiter::MessageLimiter(MessageLimiter&& other) noexcept = default;
MessageLimiter& MessageLimiter::operator=(MessageLimiter&& other) noexcept = default;
MessageLimiter::~MessageLimiter() = default;

Result<MessageLimiter> MessageLimiter::make(Engine& engine,
                                            std::span<const AttributeValue> connection) {
  auto core = std::make_unique<library::MessageCore>(*engine.core_);
  if (auto error = core->know(connection)) return *error;
  return MessageLimiter(std::move(core));
}

MessageRuling MessageLimiter::check(std::string_view message, std::optional<Instant> now) {
  return core_->check(message, now);
}

std::uint64_t MessageLimiter::max_inspect() const {
  return core_->max_inspect();
}

}  // namespace weir
