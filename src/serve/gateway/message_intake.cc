// What the client sends: messages to be decided, one after the other, and pings and closes, which
// pass.

#include <utility>

#include "engine/compiled_policy.h"
#include "engine/request_view.h"
#include "serve/gateway/message_tunnel.h"

namespace weir::gateway {
namespace {

using websocket::CloseCode;
using websocket::Event;
using websocket::Opcode;

constexpr std::size_t kBound = 64 * 1024;     // of answers, and of what a peer has not taken
constexpr std::size_t kKeptText = 16 * 1024;  // capacity that an idle connection may keep

}  // namespace

// Whether more of the client's input may be looked at: while one message waits, pings and pongs.
bool MessageTunnel::may_take() const {
  if (upstream_->unsent() >= kBound || client_->unsent() + answers_.size() >= kBound) return false;
  return phase_ == Phase::kReading || client_->input().empty() ||
         reader_.ping_is_next(client_->input());
}

void MessageTunnel::take_from_client() {
  while (phase_ < Phase::kClosing && may_take() && !client_->input().empty()) {
    const std::string_view input = client_->input();
    if (client_closed_) {
      client_->consume(input.size());
      return;
    }
    // The buffer is the connection's own, and nobody else looks at it until it is consumed.
    const Event event = reader_.read({const_cast<char*>(input.data()), input.size()});
    take(event);
    if (phase_ == Phase::kClosed) return;
    client_->consume(event.consumed);
    if (event.kind == Event::Kind::kNeedMore && event.consumed == 0) return;
  }
}

void MessageTunnel::take(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kNeedMore:
      return;
    case Event::Kind::kMessage:
      return take_piece(event);
    case Event::Kind::kPing:
    case Event::Kind::kPong: {
      const bool ping = event.kind == Event::Kind::kPing;
      return websocket::append_masked_frame(
          upstream_->output(), ping ? Opcode::kPing : Opcode::kPong, event.payload, event.mask);
    }
    case Event::Kind::kClose:
      return pass_close(event);
    case Event::Kind::kViolation:
      return close_both(event.violation.code, event.violation.message, CloseCode::kGoingAway);
  }
}

void MessageTunnel::take_piece(const Event& event) {
  const bool begins = !std::exchange(in_message_, !event.last);
  if (begins) fate_ = limited() ? Fate::kGathered : Fate::kPassed;
  if (fate_ == Fate::kDropped) return;
  if (fate_ == Fate::kPassed) {
    return websocket::append_masked_frame(upstream_->output(),
                                          begins ? event.opcode : Opcode::kContinuation,
                                          event.payload, event.mask, event.last);
  }
  opcode_ = event.opcode;
  mask_ = event.mask;
  text_is_all_ = event.last;
  const std::uint64_t most = worker_.policy().websocket.max_inspect;
  if (gathered_.size() + event.payload.size() > most) return take_too_long(event);
  if (event.last && gathered_.empty()) {
    text_ = event.payload;  // whole in the buffer: nothing needs to be copied
    return read_message();
  }
  gathered_.append(event.payload);
  if (!event.last) return;
  text_ = gathered_;
  read_message();
}

// Whether the policy in force still has limits on this connection's messages.
bool MessageTunnel::limited() {
  const engine::CompiledPolicy& policy = worker_.compiled();
  if (std::exchange(generation_, worker_.generation()) != worker_.generation()) {
    request_->facts().forget_made();
    engine::RequestView handshake(request_->facts(), policy.policy().paths);
    limited_ = policy.limits_messages(handshake);
  }
  return limited_;
}

void MessageTunnel::read_message() {
  request_->facts().forget_made();
  auto policy = worker_.engine.current();
  const auto unreadable = policy->policy().websocket.unreadable;
  if (message_.read(std::move(policy), text_) || unreadable == policy::Unreadable::kPass) {
    return decide();
  }
  if (unreadable == policy::Unreadable::kRefuse) return refuse_unreadable(engine::kNotReadable);
  close_both(CloseCode{engine::kCloseNotReadable}, engine::kNotReadable, CloseCode::kGoingAway);
}

// Of a message over max_inspect nothing is known but that it is one.
void MessageTunnel::take_too_long(const Event& event) {
  const auto unreadable = worker_.policy().websocket.unreadable;
  if (unreadable == policy::Unreadable::kClose) {
    return close_both(CloseCode{engine::kCloseTooLong}, engine::kTooLong, CloseCode::kGoingAway);
  }
  if (unreadable == policy::Unreadable::kRefuse) return refuse_unreadable(engine::kTooLong);
  request_->facts().forget_made();
  message_.clear();
  gathered_.append(event.payload);
  text_ = gathered_;
  decide();
}

void MessageTunnel::decide() {
  phase_ = Phase::kDeciding;
  worker_.engine.decide(message_, worker_.clock.now(), std::nullopt,
                        [self = MessageTunnelPtr(this)](const engine::Decision& decision) {
                          self->on_decision(decision);
                        });
  if (phase_ != Phase::kDeciding && phase_ != Phase::kHeld) return;
  if (gathered_.empty()) gathered_ = text_;  // it outlives the buffer
  text_ = gathered_;
}

void MessageTunnel::on_decision(const engine::Decision& decision) {
  if (phase_ != Phase::kDeciding) return;  // the connection has ended meanwhile
  if (!decision.allowed) {
    worker_.counters.message_denied.add();
    refuse(decision);
  } else {
    worker_.counters.message_allowed.add();
    if (decision.named >= 0) refused_ = 0;
    if (decision.delay.count() > 0) {
      hold(decision.delay);
    } else {
      pass_message();
    }
  }
  pump();
}

void MessageTunnel::hold(Duration delay) {
  phase_ = Phase::kHeld;
  if (!delay_) delay_.emplace(worker_.loop.executor());
  delay_->expires_after(delay);
  delay_->async_wait([self = MessageTunnelPtr(this)](const net::SystemError& error) {
    if (error || self->phase_ != Phase::kHeld) return;
    self->pass_message();
    self->pump();
  });
}

void MessageTunnel::pass_message() {
  websocket::append_masked_frame(upstream_->output(), opcode_, text_, mask_, text_is_all_);
  end_message(Fate::kPassed);
}

// `rest`: what becomes of what is still to come of it.
void MessageTunnel::end_message(Fate rest) {
  phase_ = Phase::kReading;
  fate_ = rest;
  text_ = {};
  message_.clear();
  gathered_.clear();
  if (gathered_.capacity() > kKeptText) std::string().swap(gathered_);
}

void MessageTunnel::refuse(const engine::Decision& decision) {
  std::string text;
  engine::append_message_refusal(decision, message_.request_id(), text);
  answer(text);
}

void MessageTunnel::refuse_unreadable(std::string_view why) {
  worker_.counters.message_unreadable.add();
  std::string text;
  engine::append_unreadable_refusal(why, text);
  answer(text);
}

void MessageTunnel::answer(std::string_view text) {
  end_message(Fate::kDropped);
  websocket::append_frame(answers_, Opcode::kText, text);
  ++refused_;
  const std::uint32_t most = worker_.policy().websocket.close_after;
  if (most == 0 || refused_ < most) return;
  close_both(CloseCode{engine::kCloseTooManyRefused}, engine::kTooManyRefused,
             CloseCode::kGoingAway);
}

void MessageTunnel::pass_close(const Event& event) {
  client_closed_ = true;
  const auto code = static_cast<CloseCode>(event.close_code);
  websocket::append_masked_frame(upstream_->output(), Opcode::kClose,
                                 websocket::close_payload(code, event.payload), event.mask);
}

}  // namespace weir::gateway
