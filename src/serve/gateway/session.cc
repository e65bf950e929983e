// The connection: whose turn it is, how long anybody may take, and how it ends.

#include "serve/gateway/session.h"

#include <algorithm>
#include <utility>

namespace weir::gateway {
namespace {

// Answers that wait to be written; more requests are not looked at meanwhile.
constexpr std::size_t kMaxUnsent = 64 * 1024;
// How long to read away what a client still sends: since its last byte, and in all.
constexpr Duration kDrainGrace = std::chrono::seconds(1);
constexpr Duration kLingerStep = std::chrono::seconds(5);
constexpr Duration kLingerStepDraining = std::chrono::seconds(1);
constexpr Duration kLingerTotal = std::chrono::seconds(30);
// What a tunnel whose frames nobody reads here has left, once the listener closes.
constexpr Duration kTunnelGrace = std::chrono::seconds(5);

http1::Limits limits_of(const policy::Gateway& settings) {
  http1::Limits limits;
  limits.max_headers = settings.max_headers;
  limits.max_head_bytes = settings.max_header_bytes;
  return limits;
}

}  // namespace

void Session::start(Worker& worker, net::SessionSet& sessions, net::Transport transport,
                    const IpAddress& peer) {
  const policy::Policy& policy = worker.policy();
  if (!policy.gateway) return;  // a reload never takes the listener away; closes the socket
  auto* session = new Session(worker, sessions, std::move(transport), peer, *policy.gateway);
  session->await_input();
}

Session::Session(Worker& worker, net::SessionSet& sessions, net::Transport transport,
                 const IpAddress& peer, const policy::Gateway& settings)
    : worker_(worker),
      sessions_(sessions),
      peer_(peer),
      peer_text_(peer_.to_string()),
      client_(new net::Connection(worker.loop, std::move(transport),
                                  std::max<std::size_t>(settings.max_header_bytes, 64 * 1024))),
      parser_(limits_of(settings)),
      timeouts_(settings.timeouts),
      account_(worker),
      exchange_(worker.loop, *client_, limits_of(settings), *this),
      tunnel_(worker.loop, [this] { end(); }),
      deadline_(worker.loop.timers(), [this] { on_deadline(); }) {
  client_->set_owner(this);
  sessions_.add(*this);
}

void Session::on_input(net::Connection&) {
  switch (state_) {
    case State::kHead:
    case State::kReadPast:
      return advance();
    case State::kExchange:
      return exchange_.on_client_input();
    case State::kHeld:
      if (client_->input_over()) return on_broken();
      return client_->read();
    case State::kLinger:
      client_->consume(client_->input().size());
      if (client_->unsent() != 0) return client_->read();  // no sign that it takes anything
      return client_->input_over() ? end() : await_input();
    case State::kDeciding:
    case State::kTunnel:
    case State::kClosed:
      return;
  }
}

void Session::on_output(net::Connection&) {
  if (state_ == State::kExchange) return exchange_.on_client_output();
  if (client_->output_failed()) return end();
  const bool answered =
      state_ == State::kHead || state_ == State::kReadPast || state_ == State::kLinger;
  if (!answered) return;
  if (client_->unsent() == 0) end_answered_access();
  if (state_ != State::kLinger) return advance();
  if (client_->input_over() && client_->unsent() == 0) return end();
  await_input();
}

// Goes through what has arrived, request by request; then writes the answers and waits.
void Session::advance() {
  if (advancing_) return;
  advancing_ = true;
  do {
    held_back_ = false;
    while (step()) {
    }
    if (state_ != State::kClosed && state_ != State::kTunnel) client_->flush();
  } while (held_back_ && client_->unsent() == 0);
  advancing_ = false;
  // An exchange and a tunnel see to the connection by themselves.
  if (state_ == State::kClosed || state_ == State::kTunnel || state_ == State::kExchange) return;
  if (client_->output_failed()) return end();
  await_input();
}

// One step on what has arrived; false when there is nothing to do but wait.
bool Session::step() {
  if (state_ == State::kReadPast) {
    read_past();
    return state_ == State::kHead;
  }
  if (state_ != State::kHead) return false;
  if (client_->unsent() > kMaxUnsent) {
    held_back_ = true;
    return false;
  }
  if (client_->input().empty()) {
    if (client_->input_over()) end_with_client();
    return false;
  }
  switch (parser_.parse(client_->input())) {
    case http1::Progress::kNeedMore:
      if (client_->input_over()) end_with_client();
      return false;
    case http1::Progress::kError:
      refuse_head(parser_.error().status, "BAD_REQUEST", parser_.error().message);
      return false;
    case http1::Progress::kComplete:
      handle_request();
      return state_ == State::kHead || state_ == State::kReadPast;
  }
  return false;
}

// Takes the rest of an answered request's body off the input. At its end the next request is due.
void Session::read_past() {
  client_->consume(unwanted_.relay(client_->input(), nowhere_, 0));
  if (unwanted_.done()) return next_request();
  const bool wrong = unwanted_.status() == BodyRelay::Status::kError;
  if (client_->input_over()) return end_with_client();
  if (wrong || unwanted_.taken() > kMaxReadPast) linger();
}

void Session::next_request() {
  if (close_after_ || sessions_.draining()) return linger();
  parser_.reset();
  state_ = State::kHead;
}

void Session::await_input() {
  switch (state_) {
    case State::kHead:
      if (parser_.begun()) {
        // Counted from the first byte: a head that trickles in gains no time by each.
        if (!head_timed_) deadline_.expires_after(timeouts_.header);
        head_timed_ = true;
      } else {
        head_timed_ = false;
        deadline_.expires_after(idle_time());
        if (!client_->reading()) client_->shrink();
      }
      break;
    case State::kReadPast:
      deadline_.expires_after(timeouts_.body);
      break;
    case State::kLinger:
      deadline_.expires_after(linger_time());
      break;
    default:
      return;
  }
  client_->read();
}

// How long a connection without a request may stay. What has not gone is a body like any other.
Duration Session::idle_time() const {
  if (client_->unsent() != 0) return timeouts_.body;
  return sessions_.draining() ? kDrainGrace : timeouts_.idle;
}

// The same for one that ends; counted in all once everything has gone.
Duration Session::linger_time() {
  if (client_->unsent() != 0) return timeouts_.body;
  const std::int64_t now_ns = worker_.loop.timers().now_ns();
  if (linger_until_ns_ == 0) linger_until_ns_ = now_ns + kLingerTotal.count();
  const Duration step = sessions_.draining() ? kLingerStepDraining : kLingerStep;
  return std::min(step, Duration(linger_until_ns_ - now_ns));
}

void Session::linger() {
  state_ = State::kLinger;
  client_->consume(client_->input().size());
  client_->end_output();
  if (client_->output_failed()) return end();
  if (client_->input_over() && client_->unsent() == 0) return end();
  await_input();
}

// The client has ended its side: what has been answered still goes.
void Session::end_with_client() {
  client_->unsent() == 0 || client_->input_failed() ? end() : linger();
}

void Session::on_deadline() {
  if (state_ == State::kHead && parser_.begun()) {
    return refuse_head(408, "REQUEST_TIMEOUT", "the head of the request did not arrive in time");
  }
  if (state_ == State::kHead && client_->unsent() == 0) return linger();
  end();
}

// A request may be on its way already: an idle connection has a moment to bring it, is answered,
// and is told that it ends. Closed at once, the request would be lost.
//
// A WebSocket has no end of its own to wait for: where its frames are looked into, both sides are
// told that the server goes away.
void Session::drain() {
  if (state_ == State::kTunnel) return leave_tunnel();
  const bool idle = state_ == State::kHead && !parser_.begun() && client_->input().empty();
  if (idle) deadline_.expires_after(idle_time());
}

void Session::leave_tunnel() {
  if (messages_) return messages_->leave();
  deadline_.expires_after(kTunnelGrace);
}

void Session::abort() {
  end();
}

void Session::end() {
  if (state_ == State::kClosed) return;
  // A plain end would let an answer without a length look whole.
  const bool cut_short = state_ == State::kExchange || client_->unsent() != 0;
  state_ = State::kClosed;
  // Of one that began and did not end: cut short, or the client left before it began.
  if (access_ && access_->status() != 0) {
    end_access(access_->status(), exchange_.response_bytes(), true);
  } else {
    end_access(kClientGone, 0, true);
  }
  deadline_.cancel();
  delay_.reset();
  account_.close();
  exchange_.stop();
  tunnel_.close();
  if (messages_) messages_->close();
  cut_short ? client_->reset() : client_->close();
  sessions_.remove(*this);
  if (!facts_) destroy();  // else when the store has answered
}

void Session::destroy() {
  worker_.loop.post([self = std::unique_ptr<Session>(this)] {});
}

// ---- what an exchange tells

bool Session::begin_response(const http1::ResponseHead& head) {
  worker_.counters.requests.allowed.add();
  if (access_) access_->set_status(head.status);
  account_.on_response(head);
  counted_ = true;
  return sessions_.draining();
}

void Session::on_response_done(bool keep) {
  account_.close();
  if (client_->unsent() == 0) end_answered_access();
  close_after_ = !keep;
  if (!exchange_.request_body().done()) {
    unwanted_ = std::move(exchange_.request_body());
    unwanted_.drop();
    if (close_after_) return linger();
    state_ = State::kReadPast;
  } else {
    next_request();
  }
  if (state_ != State::kLinger && state_ != State::kClosed) advance();
}

void Session::on_failure(const Failure& failure) {
  account_.close();
  const bool clients = failure.status < 500;
  worker_.counters.requests.error.add();
  if (!clients) worker_.counters.upstream_fault.add();
  unwanted_ = std::move(exchange_.request_body());
  unwanted_.drop();
  const bool close = clients || !traits_.keep_alive;
  answer_fault(failure.status, failure.code, failure.message, close);
  advance();
}

void Session::on_broken() {
  if (!counted_) worker_.counters.requests.error.add();
  client_->reset();
  end();
}

void Session::on_tunnel(net::ConnectionPtr upstream) {
  state_ = State::kTunnel;
  deadline_.cancel();
  if (access_) end_access(access_->status(), 0);
  if (watched_) {
    messages_ = new MessageTunnel(worker_, std::move(watched_), [this] { end(); });
    messages_->start(client_, std::move(upstream), timeouts_.body);
  } else {
    tunnel_.start(client_, std::move(upstream), timeouts_.body);
  }
  if (state_ == State::kTunnel && sessions_.draining()) leave_tunnel();
}

}  // namespace weir::gateway
