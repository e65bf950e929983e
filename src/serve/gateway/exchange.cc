#include "serve/gateway/exchange.h"

#include <utility>

#include "serve/gateway/forwarded_head.h"
#include "wire/websocket/handshake.h"

namespace weir::gateway {
namespace {

using http1::Progress;
using Framing = BodyRelay::Framing;

// Unsent bytes at which a receiver holds its sender back.
constexpr std::size_t kBound = 64 * 1024;
// Interim responses (1xx) to one request. Each renews the wait for the final one: without a bound
// an upstream could hold the client for ever.
constexpr std::uint32_t kMaxInterim = 128;

bool has_room(const net::Connection& connection) {
  return connection.unsent() < kBound;
}

// Relays what has arrived for as long as it goes at once: who waits for bytes to go is told of
// them, but nothing tells of a receiver that took all. Returns how many bytes it took.
std::size_t relay_arrived(BodyRelay& body, net::Connection& from, net::Connection& to) {
  std::size_t taken = 0;
  while (true) {
    const std::size_t step = body.relay(from.input(), to.output(), kBound);
    from.consume(step);
    taken += step;
    if (body.status() == BodyRelay::Status::kError) return taken;
    to.flush();
    if (step == 0 || to.unsent() != 0 || to.output_failed()) return taken;
  }
}

}  // namespace

Exchange::Exchange(net::Loop& loop, net::Connection& client, const http1::Limits& limits,
                   Owner& owner)
    : client_(client),
      owner_(owner),
      response_(limits),
      deadline_(loop.timers(), [this] { on_deadline(); }) {}

// ---- to the upstream

void Exchange::start(const RequestTraits& traits, Choice target,
                     const policy::GatewayTimeouts& timeouts) {
  active_ = true;
  traits_ = traits;
  timeouts_ = timeouts;
  target_ = std::move(target);
  interim_count_ = 0;
  response_begun_ = interim_passed_ = continue_passed_ = false;
  close_client_ = upstream_keeps_ = false;
  const bool chunked = traits.body.kind == http1::Body::Kind::kChunked;
  request_body_.start(traits.body, chunked ? Framing::kChunked : Framing::kRaw);
  response_body_.start({}, Framing::kRaw);
  send(false);
}

void Exchange::send(bool fresh) {
  head_sent_ = false;
  net::ConnectionPtr idle;
  if (!fresh) idle = target_.upstream().take_idle(!traits_.idempotent);
  reused_ = idle != nullptr;
  if (reused_) {
    begin_on(std::move(idle));
    return;
  }
  attempt_ = target_.upstream().connect(*this, client_.max_input());
  arm();
  client_.read();  // to hear when the client goes
}

void Exchange::on_connected(net::ConnectionPtr connection) {
  attempt_.reset();
  begin_on(std::move(connection));
}

void Exchange::on_connect_failed(const std::string& why, bool resolved) {
  attempt_.reset();
  target_.failed(why);
  if (target_.next()) return send(false);
  if (!resolved) return fail(503, "UPSTREAM_UNRESOLVED", "upstream " + target_.name() + ": " + why);
  fail(502, "UPSTREAM_UNREACHABLE", "cannot connect to upstream " + target_.name() + ": " + why);
}

void Exchange::begin_on(net::ConnectionPtr connection) {
  upstream_ = std::move(connection);
  upstream_->set_owner(this);
  response_.reset();
  upstream_->output().append(head_);
  if (request_body_.done()) {
    upstream_->flush();
    if (upstream_->output_failed()) return upstream_lost();
    head_sent_ = true;
    upstream_->read();
    client_.read();
    arm();
    return;
  }
  upstream_->read();
  pump_request();
}

void Exchange::pump_request() {
  const bool input_was_over = client_.input_over();
  const std::size_t taken = relay_arrived(request_body_, client_, *upstream_);
  if (request_body_.status() == BodyRelay::Status::kError) {
    return fail(400, "BAD_REQUEST", "request body: " + std::string(request_body_.error()));
  }
  if (upstream_->output_failed()) {
    // What it has already answered may still be read; the read under way tells.
    if (!head_sent_ && taken == 0) return upstream_lost();
    request_body_.drop();
    arm();
    return;
  }
  head_sent_ = true;
  if (!request_body_.done() && input_was_over && client_.input().empty()) return break_off();
  if (request_body_.done() || has_room(*upstream_)) client_.read();
  arm();
}

void Exchange::on_client_input() {
  if (!upstream_) {
    if (client_.input_over()) break_off();
    return;
  }
  if (!request_body_.done() && !upstream_->output_failed()) return pump_request();
  // Bytes of a next request wait in the buffer; a client that ends its side is gone.
  if (client_.input_over()) return break_off();
  client_.read();
}

void Exchange::on_output(net::Connection&) {
  if (!request_body_.done()) {
    pump_request();
  } else if (upstream_->output_failed() && !response_begun_) {
    upstream_->read();
  } else {
    arm();
  }
}

// ---- from the upstream

void Exchange::on_input(net::Connection&) {
  if (!response_begun_ && !read_head()) return;
  if (active_) pump_response();
}

// Reads heads until the final one. False when it has not come, or the exchange is over.
bool Exchange::read_head() {
  while (true) {
    const Progress progress = response_.parse(upstream_->input(), traits_.to_head);
    if (progress == Progress::kError) {
      blame(502, "UPSTREAM_BAD_RESPONSE", ": " + std::string(response_.error().message));
      return false;
    }
    if (progress == Progress::kNeedMore) {
      if (upstream_->input_over()) {
        upstream_lost();
      } else if (has_room(client_)) {
        upstream_->read();
      }
      return false;
    }
    if (!take_head()) return false;
    if (response_begun_) return true;
  }
}

// Acts on one complete head. False when the exchange is over.
bool Exchange::take_head() {
  const http1::ResponseHead& head = response_.head();
  if (head.is_interim() && interim_count_ == kMaxInterim) {
    blame(502, "UPSTREAM_BAD_RESPONSE", " sends interim responses (1xx) without end");
    return false;
  }
  if (head.is_interim()) {
    pass_interim();
  } else if (head.switches_protocols()) {
    switch_protocols();
    return false;
  } else {
    begin_response();
  }
  return true;
}

// A client that does not read misses hints: they are the only part of a response that may be left
// out, and waiting for room would let them pile up.
void Exchange::pass_interim() {
  ++interim_count_;
  if (!traits_.client_is_1_0 && has_room(client_)) {
    const char* const end = upstream_->input().data() + response_.consumed();
    append_response_head(client_.output(), response_.head(), end, {});
    client_.flush();
    interim_passed_ = true;
    if (response_.head().status == 100) continue_passed_ = true;
  }
  upstream_->consume(response_.consumed());
  response_.reset();
  arm();
}

// Whether the client may wait for 100 before it sends its body: the upstream's turn, then.
bool Exchange::awaits_continue() const {
  return traits_.expect_continue && !continue_passed_ && !request_body_.done() &&
         request_body_.taken() == 0;
}

// Whether the response begins while more of the request is to come than will be read past, or while
// a client that waits for 100 may or may not send the rest: then no next request can be told.
bool Exchange::rest_is_uncertain() const {
  if (request_body_.done()) return false;
  if (awaits_continue()) return true;
  return request_body_.left() > kMaxReadPast;
}

void Exchange::begin_response() {
  using Kind = http1::Body::Kind;
  const http1::ResponseHead& head = response_.head();
  const bool open_end = head.body.kind == Kind::kChunked || head.body.kind == Kind::kUntilClose;
  target_.answered();
  const bool must_close = owner_.begin_response(head);
  close_client_ = must_close || !traits_.keep_alive || (open_end && traits_.client_is_1_0) ||
                  rest_is_uncertain();
  ResponseContext context;
  context.rate_headers = rate_headers_;
  context.close = close_client_;
  context.keep_alive_1_0 = traits_.client_is_1_0 && !close_client_;
  context.chunked = open_end && !traits_.client_is_1_0;
  append_response_head(client_.output(), head, upstream_->input().data() + response_.consumed(),
                       context);
  upstream_keeps_ = head.keep_alive;
  response_body_.start(head.body, context.chunked ? Framing::kChunked : Framing::kRaw);
  upstream_->consume(response_.consumed());
  response_begun_ = true;
}

// Where frames will be looked into they must be WebSocket's own: nothing was said of extensions.
bool Exchange::may_switch() const {
  if (!traits_.upgrade || !request_body_.done()) return false;
  const http1::Headers& headers = response_.head().headers;
  return !traits_.plain_frames || (headers.lists(http1::HeaderId::kUpgrade, "websocket") &&
                                   !headers.find(websocket::kExtensionsHeader));
}

void Exchange::switch_protocols() {
  if (!may_switch()) {
    return blame(502, "UPSTREAM_BAD_RESPONSE", " switched protocols in a way not asked for");
  }
  target_.answered();
  owner_.begin_response(response_.head());
  ResponseContext context;
  context.rate_headers = rate_headers_;
  append_response_head(client_.output(), response_.head(),
                       upstream_->input().data() + response_.consumed(), context);
  client_.flush();
  upstream_->consume(response_.consumed());
  deadline_.cancel();
  active_ = false;
  // target_ stays until stop(): the tunnel is a connection that the balancer counts.
  owner_.on_tunnel(std::move(upstream_));
}

void Exchange::pump_response() {
  const bool input_was_over = upstream_->input_over();
  relay_arrived(response_body_, *upstream_, client_);
  if (input_was_over && upstream_->input().empty() && !upstream_->input_failed()) {
    response_body_.end_of_input(client_.output());
  }
  client_.flush();
  const bool cut_short = upstream_->input_failed() && upstream_->input().empty();
  if (client_.output_failed()) return break_off();
  if (response_body_.done()) return finish();
  if (cut_short || response_body_.status() == BodyRelay::Status::kError) return break_off();
  if (has_room(client_)) upstream_->read();
  arm();
}

void Exchange::on_client_output() {
  if (client_.output_failed()) return break_off();
  if (response_begun_) return pump_response();
  if (upstream_ && has_room(client_)) upstream_->read();  // interim responses had filled it
}

// ---- the end

void Exchange::finish() {
  deadline_.cancel();
  active_ = false;
  const bool clean = upstream_keeps_ && request_body_.done() && upstream_->unsent() == 0 &&
                     !upstream_->output_failed() && !upstream_->input_over() &&
                     upstream_->input().empty();
  if (clean) {
    target_.upstream().give_back(std::move(upstream_));
  } else {
    upstream_->close();
  }
  upstream_.reset();
  target_.reset();
  owner_.on_response_done(!close_client_);
}

bool Exchange::may_repeat() const {
  if (!reused_ || response_.begun() || interim_passed_ || request_body_.taken() != 0) return false;
  return !head_sent_ || traits_.idempotent;
}

// The upstream has closed before its response began.
void Exchange::upstream_lost() {
  if (may_repeat()) {
    upstream_->close();
    upstream_.reset();
    return send(true);
  }
  const std::string_view what = response_.begun() ? " closed in the middle of its response's head"
                                                  : " closed without a response";
  // An idle connection may be closed at any time; nobody is to blame for that.
  if (!reused_ || response_.begun()) return blame(502, "UPSTREAM_CLOSED", what);
  fail(502, "UPSTREAM_CLOSED", "upstream " + target_.name() + std::string(what));
}

void Exchange::stop() {
  deadline_.cancel();
  active_ = false;
  if (attempt_) attempt_->cancel();
  attempt_.reset();
  if (upstream_) upstream_->close();
  upstream_.reset();
  target_.reset();
}

void Exchange::fail(int status, std::string_view code, std::string message) {
  if (response_begun_) return break_off();
  const Failure failure{status, code, std::move(message)};
  stop();
  owner_.on_failure(failure);
}

// The same for what is the upstream's fault: `what` it did.
void Exchange::blame(int status, std::string_view code, std::string_view what) {
  target_.failed(what.substr(1));
  fail(status, code, "upstream " + target_.name() + std::string(what));
}

void Exchange::break_off() {
  stop();
  owner_.on_broken();
}

// ---- time

void Exchange::arm() {
  if (attempt_) {
    deadline_.expires_after(timeouts_.connect);
  } else if (!response_begun_ && (request_body_.done() || awaits_continue())) {
    deadline_.expires_after(timeouts_.response);
  } else {
    deadline_.expires_after(timeouts_.body);
  }
}

void Exchange::on_deadline() {
  if (response_begun_) return break_off();
  if (attempt_) return on_connect_timeout();
  if (request_body_.done() || awaits_continue()) {
    return blame(504, "UPSTREAM_TIMEOUT", " did not answer in time");
  }
  if (upstream_->unsent() != 0 || upstream_->output_failed()) {
    return blame(504, "UPSTREAM_TIMEOUT", " did not take the request body in time");
  }
  fail(408, "REQUEST_TIMEOUT", "the request body did not arrive in time");
}

void Exchange::on_connect_timeout() {
  constexpr std::string_view kWhat = " did not accept a connection in time";
  attempt_->cancel();
  attempt_.reset();
  target_.failed(kWhat.substr(1));
  if (target_.next()) return send(false);
  fail(504, "UPSTREAM_CONNECT_TIMEOUT", "upstream " + target_.name() + std::string(kWhat));
}

}  // namespace weir::gateway
