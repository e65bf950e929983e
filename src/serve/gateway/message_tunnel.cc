// Both directions in turn, and how a connection ends.

#include "serve/gateway/message_tunnel.h"

#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "serve/gateway/keep_alive.h"

namespace weir::gateway {
namespace {

using websocket::CloseCode;
using websocket::Opcode;

constexpr std::size_t kBound = 64 * 1024;  // unsent bytes at which the other side is held back
// For a client to take its close frame and to go.
constexpr Duration kCloseTime = std::chrono::seconds(5);
constexpr std::string_view kLeaving = "the server is going away";
// Messages have no bound of their own: one that is not looked into is passed on piece by piece.
constexpr websocket::ReaderLimits kAnyLength{std::numeric_limits<std::uint64_t>::max()};

bool has_room(const net::Connection& connection) {
  return connection.unsent() < kBound;
}

websocket::MaskKey random_mask() {
  const std::uint32_t random = std::random_device{}();
  websocket::MaskKey key;
  std::memcpy(key.data(), &random, sizeof random);
  return key;
}

}  // namespace

MessageTunnel::MessageTunnel(Worker& worker, std::unique_ptr<WatchedRequest> request,
                             std::function<void()> ended)
    : worker_(worker),
      request_(std::move(request)),
      message_(request_->facts()),
      ended_(std::move(ended)),
      reader_(websocket::Sender::kClient, kAnyLength),
      to_client_(websocket::Sender::kServer),
      deadline_(worker.loop.timers(), [this] { end(); }) {}

void MessageTunnel::start(net::ConnectionPtr client, net::ConnectionPtr upstream,
                          Duration patience) {
  client_ = std::move(client);
  upstream_ = std::move(upstream);
  patience_ = patience;
  keep_alive(*client_);
  keep_alive(*upstream_);
  client_->set_owner(this);
  upstream_->set_owner(this);
  pump();
}

void MessageTunnel::on_input(net::Connection&) {
  pump();
}

void MessageTunnel::on_output(net::Connection&) {
  pump();
}

// A decision that comes at once pumps again; the loop below sees to it.
void MessageTunnel::pump() {
  const MessageTunnelPtr alive(this);
  pump_again_ = true;
  if (std::exchange(pumping_, true)) return;
  while (std::exchange(pump_again_, false) && phase_ != Phase::kClosed) pump_once();
  pumping_ = false;
}

void MessageTunnel::leave() {
  leaving_ = true;
  pump();
}

void MessageTunnel::pump_once() {
  if (leaving_ && phase_ == Phase::kReading) {
    close_both(CloseCode::kGoingAway, kLeaving, CloseCode::kGoingAway);
  }
  if (phase_ != Phase::kClosing) take_from_client();
  take_from_upstream();
  const bool client_waits = !may_take();
  const bool upstream_waits = !has_room(*client_);
  client_->flush();
  upstream_->flush();
  if (client_->input_failed() || client_->output_failed() || upstream_->input_failed() ||
      upstream_->output_failed()) {
    return end();
  }
  // What has gone at once has made room, and nothing else will tell of it.
  const bool client_may_go_on = client_waits && may_take() && !client_->input().empty();
  const bool upstream_may_go_on =
      upstream_waits && has_room(*client_) && !upstream_->input().empty();
  pump_again_ = pump_again_ || client_may_go_on || upstream_may_go_on;
  if (pump_again_) return;
  if (phase_ == Phase::kClosing) return finish_closing();
  pass_ends();
  if (phase_ == Phase::kClosed) return;
  if (has_room(*client_)) upstream_->read();
  if (may_take()) client_->read();
}

// ---- from the upstream

// How much of `bytes` may be passed on before an answer has its turn.
std::size_t MessageTunnel::trackable(std::string_view bytes) {
  std::size_t size = 0;
  while (size < bytes.size()) {
    const auto step = to_client_.take(bytes.substr(size));
    if (step.violated) {
      close_both(CloseCode::kBadGateway, step.violation.message, step.violation.code);
      break;
    }
    if (step.size == 0) break;
    size += step.size;
    if (!farewell_.empty() && to_client_.between_frames()) break;
    if (!answers_.empty() && to_client_.between_messages()) break;
  }
  return size;
}

// Passes on what the upstream has sent, as it is; answers go between messages, a farewell between
// frames. Nothing goes behind a close frame.
void MessageTunnel::take_from_upstream() {
  std::string& out = client_->output();
  while (true) {
    const bool ended = to_client_.closed() || to_client_ended_;
    if (ended || to_client_.between_messages()) {
      if (!ended) out.append(answers_);
      answers_.clear();
    }
    if (!farewell_.empty() && to_client_.between_frames()) {
      if (!ended) out.append(farewell_);
      farewell_.clear();
      client_->end_output();
      return;
    }
    if (phase_ == Phase::kClosing && farewell_.empty()) return;
    const std::string_view bytes = upstream_->input();
    if (bytes.empty() || !has_room(*client_)) return;
    const std::size_t size = trackable(bytes);
    out.append(bytes.substr(0, size));
    upstream_->consume(size);
    if (size == 0 && farewell_.empty()) return;
  }
}

// ---- the end

bool MessageTunnel::over() const {
  return client_->input_ended() && upstream_->input_ended() && client_->unsent() == 0 &&
         upstream_->unsent() == 0;
}

// Passes each side's end on to the other, once all before it has gone.
void MessageTunnel::pass_ends() {
  const bool deciding = phase_ == Phase::kDeciding || phase_ == Phase::kHeld;
  if (client_->input_ended() && !deciding && may_take()) upstream_->end_output();
  // What is left of the upstream's bytes then is a piece of a header.
  if (upstream_->input_ended() && has_room(*client_) && !std::exchange(to_client_ended_, true)) {
    client_->end_output();
  }
  if (over() && !deciding) return end();
  if (client_->input_ended() || upstream_->input_ended() || client_closed_ || to_client_.closed()) {
    deadline_.expires_after(patience_);
  }
}

// Ends the connection from the middle: each side is told by a close frame, the client as soon as
// the frame on its way to him has ended.
void MessageTunnel::close_both(CloseCode to_client, std::string_view reason,
                               CloseCode to_upstream) {
  phase_ = Phase::kClosing;
  delay_.reset();
  std::string().swap(gathered_);
  websocket::append_close(farewell_, to_client, reason);
  websocket::append_masked_frame(upstream_->output(), Opcode::kClose,
                                 websocket::close_payload(to_upstream, {}), random_mask());
  upstream_->end_output();
  deadline_.expires_after(kCloseTime);
}

void MessageTunnel::finish_closing() {
  client_->consume(client_->input().size());
  if (farewell_.empty()) upstream_->consume(upstream_->input().size());
  const bool client_gone = client_->input_ended() && client_->unsent() == 0;
  if (client_gone && upstream_->unsent() == 0) return end();
  // A frame that will never end: no farewell can be said.
  if (!farewell_.empty() && upstream_->input_ended() && upstream_->input().empty()) return end();
  client_->read();
  upstream_->read();
}

void MessageTunnel::close() {
  phase_ = Phase::kClosed;
  deadline_.cancel();
  delay_.reset();
  ended_ = nullptr;
  if (!client_) return;
  client_->close();
  upstream_->close();
  client_.reset();
  upstream_.reset();
}

void MessageTunnel::end() {
  if (phase_ == Phase::kClosed) return;
  const std::function<void()> ended = std::move(ended_);
  close();
  if (ended) ended();
}

}  // namespace weir::gateway
