// One request: who asks, what the policy says, and the answer or the way to an upstream.

#include <utility>

#include "base/letters.h"
#include "base/seconds.h"
#include "engine/refusal_body.h"
#include "engine/request_view.h"
#include "serve/gateway/cors.h"
#include "serve/gateway/forwarded_head.h"
#include "serve/gateway/request_id.h"
#include "serve/gateway/session.h"

namespace weir::gateway {
namespace {

// RFC 9110 section 9.2.2. Methods are case-sensitive.
bool is_idempotent(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "PUT" ||
         method == "DELETE" || method == "TRACE";
}

// WebSocket only: an upgrade to HTTP/2 would carry requests past the limits.
bool wants_websocket(const http1::RequestHead& head) {
  if (!head.upgrade || head.minor_version == 0 || head.body.kind != http1::Body::Kind::kNone) {
    return false;
  }
  const http1::Found upgrade = head.headers.find(http1::HeaderId::kUpgrade);
  return !upgrade.repeated() && equals_ignore_case(upgrade.value, "websocket");
}

RequestTraits traits_of(const http1::RequestHead& head) {
  RequestTraits traits;
  traits.body = head.body;
  traits.to_head = head.method == "HEAD";
  traits.idempotent = is_idempotent(head.method);
  traits.client_is_1_0 = head.minor_version == 0;
  traits.keep_alive = head.keep_alive;
  traits.expect_continue = head.expect_continue;
  traits.upgrade = wants_websocket(head);
  return traits;
}

}  // namespace

void Session::handle_request() {
  deadline_.cancel();
  head_timed_ = false;
  const http1::RequestHead& head = parser_.head();
  traits_ = traits_of(head);
  unwanted_.start(head.body, BodyRelay::Framing::kDrop);
  exchange_.rate_headers().clear();
  const policy::Policy& policy = worker_.policy();
  own_headers_.clear();
  append_cors_headers(own_headers_, policy.response.cors, head.headers);
  if (policy.gateway) timeouts_ = policy.gateway->timeouts;
  facts_.emplace(head, path_buffer_);
  const Instant now = worker_.clock.now();
  facts_->set_request_id(name_request(policy));
  const Result<bool> read = facts_->read(policy.identity, policy.paths, peer_, now);
  begin_access(policy, now);
  if (access_) {
    read ? access_->describe(head, *facts_)
         : access_->describe(head, peer_text_, facts_->request_id());
  }
  if (!read) {
    worker_.counters.requests.error.add();
    leave_head();
    answer_fault(400, "BAD_REQUEST", read.error().message, false);
    return;
  }
  state_ = State::kDeciding;
  asked_at_ = worker_.counters.timer.begin();
  worker_.engine.decide(*facts_, now, std::nullopt,
                        [this](const engine::Decision& decision) { on_decision(decision); });
}

// The request's id, which lives in own_headers_ until the next request.
std::string_view Session::name_request(const policy::Policy& policy) {
  const http1::Found sent = parser_.head().headers.find(kRequestIdHeader);
  const bool believed = sent && !sent.repeated() && is_request_id(sent.value) &&
                        policy::is_trusted(policy.identity, peer_);
  return append_request_id(believed ? sent.value : std::string_view());
}

// Empty: one of ours.
std::string_view Session::append_request_id(std::string_view believed) {
  own_headers_ += "X-Request-Id: ";
  const std::size_t begin = own_headers_.size();
  if (believed.empty()) {
    worker_.request_ids.append_next(own_headers_);
  } else {
    own_headers_ += believed;
  }
  const std::size_t size = own_headers_.size() - begin;
  own_headers_ += "\r\n";
  return std::string_view(own_headers_).substr(begin, size);
}

// A head that is no request, or never became one: nothing of it is known, and none may follow.
void Session::refuse_head(int status, std::string_view code, std::string_view message) {
  worker_.counters.requests.error.add();
  traits_ = {};
  const policy::Policy& policy = worker_.policy();
  exchange_.rate_headers().clear();
  own_headers_.clear();
  append_cors_headers(own_headers_, policy.response.cors, http1::Headers());
  const std::string_view id = append_request_id({});
  begin_access(policy, worker_.clock.now());
  if (access_) access_->describe(peer_text_, id);
  unwanted_.start({}, BodyRelay::Framing::kDrop);
  answer_fault(status, code, message, true);
}

void Session::on_decision(const engine::Decision& decision) {
  worker_.counters.timer.end(asked_at_);
  if (decision.allowed) account_.open(decision);
  if (access_) access_->decided(decision);
  if (state_ == State::kClosed) {  // ended while the store was asked
    account_.close();
    facts_.reset();
    destroy();
    return;
  }
  rate_headers_.fill(decision);
  rate_headers_.append_to(exchange_.rate_headers());
  if (decision.allowed) {
    counted_ = false;
    admit(*decision.policy);
    if (state_ == State::kDeciding) go_on(decision.delay);
  } else {
    worker_.counters.requests.count(false, decision.reason);
    leave_head();
    refuse(decision);
  }
  advance();
}

// Writes the request for the upstream, while its head still stands in the buffer.
void Session::admit(const engine::CompiledPolicy& compiled) {
  const policy::Policy& policy = compiled.policy();
  group_ = worker_.upstreams.find(*facts_, policy.paths);
  if (!group_) {
    return refuse_admitted(404, "NO_ROUTE", "no route leads to this host and path");
  }
  RequestContext context;
  context.path = facts_->upstream_path();
  context.peer = peer_text_;
  context.peer_trusted = policy::is_trusted(policy.identity, peer_);
  context.tls = client_->speaks_tls();
  context.request_id = facts_->request_id();
  context.upstream = group_->authority();
  context.upgrade = traits_.upgrade;
  if (const Result<bool> watched = watch(compiled); !watched) {
    return refuse_admitted(400, "BAD_REQUEST", watched.error().message);
  }
  context.plain_frames = traits_.plain_frames;
  exchange_.head().clear();
  append_request_head(exchange_.head(), parser_.head(),
                      client_->input().data() + parser_.consumed(), context);
  leave_head();
}

// Answers one that goes to no upstream after all.
void Session::refuse_admitted(int status, std::string_view code, std::string_view message) {
  account_.close();
  group_.reset();
  leave_head();
  worker_.counters.requests.error.add();
  answer_fault(status, code, message, false);
}

// Keeps a handshake in mind whose connection will have limits on its messages. Fails where the
// policy has changed since the request was read, and cannot read it.
Result<bool> Session::watch(const engine::CompiledPolicy& compiled) {
  watched_.reset();
  if (!traits_.upgrade) return true;
  engine::RequestView handshake(*facts_, compiled.policy().paths);
  if (!compiled.limits_messages(handshake)) return true;
  const std::string_view head = client_->input().substr(0, parser_.consumed());
  http1::Limits limits;
  limits.max_headers = static_cast<std::uint32_t>(parser_.head().headers.size());
  limits.max_head_bytes = static_cast<std::uint32_t>(head.size());
  watched_ = std::make_unique<WatchedRequest>(head, limits, facts_->request_id());
  traits_.plain_frames = true;
  return watched_->read(compiled.policy(), peer_, facts_->read_at());
}

// With an admitted request whose head has been written for the upstream.
void Session::go_on(Duration delay) {
  if (client_->input_over()) return give_up();
  delay.count() > 0 ? hold(delay) : begin_exchange();
}

// The client has left while its request was decided. Answers before it may still be on their way.
void Session::give_up() {
  account_.close();
  group_.reset();
  worker_.counters.requests.error.add();
  end_access(kClientGone, 0, true);
  linger();
}

void Session::hold(Duration delay) {
  state_ = State::kHeld;
  if (!delay_) delay_.emplace(worker_.loop.executor());
  delay_->expires_after(delay);
  delay_->async_wait([this](const net::SystemError& error) {
    if (error || state_ != State::kHeld) return;
    begin_exchange();
    advance();
  });
  client_->read();
}

void Session::begin_exchange() {
  state_ = State::kExchange;
  exchange_.start(traits_, std::exchange(group_, nullptr)->choose(), timeouts_);
}

// The head has been read for good: what follows it is the body, or the next request.
void Session::leave_head() {
  facts_.reset();
  client_->consume(parser_.consumed());
  parser_.reset();
}

void Session::refuse(const engine::Decision& decision) {
  std::string body;
  LocalAnswer local;
  local.content_type = engine::append_refusal_body(decision, body);
  local.status = engine::refusal_status(decision);
  local.body = body;
  answer(local);
}

bool Session::rest_can_be_read_past() const {
  if (unwanted_.done()) return true;
  if (unwanted_.status() == BodyRelay::Status::kError) return false;
  if (traits_.expect_continue && unwanted_.taken() == 0) return false;
  return unwanted_.left() <= kMaxReadPast && unwanted_.taken() <= kMaxReadPast;
}

// Answers in place of an upstream; then comes the next request, or the end of the connection.
void Session::answer(const LocalAnswer& wanted) {
  LocalAnswer local = wanted;
  local.unix_seconds = worker_.clock.now().wall_ns / kNsPerSecond;
  local.rate_headers = exchange_.rate_headers();
  local.own_headers = own_headers_;
  local.to_head = traits_.to_head;
  local.close =
      wanted.close || !traits_.keep_alive || sessions_.draining() || !rest_can_be_read_past();
  local.keep_alive_1_0 = traits_.client_is_1_0;
  append_local_answer(client_->output(), local);
  end_access(local.status, local.to_head ? 0 : local.body.size());
  close_after_ = local.close;
  if (close_after_) return linger();
  state_ = unwanted_.done() ? State::kHead : State::kReadPast;
}

void Session::answer_fault(int status, std::string_view code, std::string_view message,
                           bool close) {
  const std::string body = fault_body(code, message);
  LocalAnswer local;
  local.status = status;
  local.body = body;
  local.close = close;
  answer(local);
}

// ---- the access log

void Session::begin_access(const policy::Policy& policy, Instant now) {
  end_answered_access();  // of a response that the client has not taken yet
  if (!policy.gateway || !policy.gateway->access_log) return;
  access_ = std::make_unique<AccessEntry>(*policy.gateway->access_log, policy.metrics.keys, now);
}

void Session::end_access(int status, std::uint64_t bytes, bool early) {
  if (!access_) return;
  worker_.access_log.write(access_->line(status, bytes, early, worker_.clock.now()));
  access_.reset();
}

// The line of an upstream's response, once all of it has gone.
void Session::end_answered_access() {
  if (access_) end_access(access_->status(), exchange_.response_bytes());
}

}  // namespace weir::gateway
