#include "serve/grpc/session.h"

#include <algorithm>

#include "base/at_rest.h"
#include "serve/grpc/answer.h"
#include "serve/grpc/session_callbacks.h"

namespace weir::grpc {
namespace {

constexpr int kReadsPerTurn = 8;  // then others get theirs
constexpr std::size_t kMaxUnsent = 64 * 1024;
constexpr std::size_t kMaxUnsentMessages = 4 << 20;
constexpr double kIdleFramesPerSecond = 100;
constexpr Duration kDrainGrace = std::chrono::seconds(1);

std::string& gathered_by_this_thread() {
  static thread_local std::string gathered;
  return gathered;
}

using StreamsAtRest = AtRest<Stream, 256>;

}  // namespace

void Reply::send(std::string_view message) const {
  if (handle_->session == nullptr) return;
  handle_->session->send_message(stream_, message);
  handle_->session->wake();
}

void Reply::finish(std::string_view message) const {
  if (handle_->session == nullptr) return;
  handle_->session->send_message(stream_, message);
  handle_->session->end_call(stream_, {});
  handle_->session->wake();
}

void Reply::end(Status status, std::string_view text) const {
  if (handle_->session == nullptr) return;
  handle_->session->end_call(stream_, {200, status, std::string(text)});
  handle_->session->wake();
}

Session::Session(net::Loop& loop, net::SessionSet& sessions, net::Transport transport,
                 const Options& options, const Methods& methods)
    : loop_(loop),
      sessions_(sessions),
      stream_(new net::Stream(loop, std::move(transport))),
      options_(options),
      methods_(methods),
      limits_{options.max_message, options.max_header_bytes},
      deadline_(loop.timers(), [this] { on_deadline(); }),
      handle_(std::make_shared<SessionHandle>()),
      http2_(make_http2(*this, options.max_calls, options.max_header_bytes)),
      idle_frames_(options.max_idle_frames),
      idle_frames_at_(loop.timers().now_ns()) {
  sessions_.add(*this);
  handle_->session = this;
  stream_->set_owner(this);
  if (http2_ == nullptr) {
    end();
  } else {
    settle();
  }
}

Session::~Session() {
  nghttp2_session_del(http2_);
}

// One that has yet to speak is given a moment, since what its client asks may be on the way.
void Session::drain() {
  if (!greeted_) return deadline_.expires_after(kDrainGrace);
  announce_end();
  wake();
}

void Session::on_greeting() {
  greeted_ = true;
  if (sessions_.draining()) announce_end();
}

// The client hears of it twice, a round trip apart: a call that it has sent meanwhile is still
// taken.
void Session::announce_end() {
  nghttp2_submit_shutdown_notice(http2_);
  nghttp2_submit_ping(http2_, NGHTTP2_FLAG_NONE, nullptr);
  closing_ = true;
  for (Stream& stream : streams_) {
    const bool watch = stream.request_done && stream.method && stream.method->kind == Kind::kWatch;
    if (watch && !stream.ended) finish(stream, {200, Status::kUnavailable, "shutting down"});
  }
}

void Session::on_ping_ack() {
  if (!closing_) return;
  nghttp2_submit_goaway(http2_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(http2_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

void Session::on_readable() {
  if (writing_) return;  // the peer has to read first
  in_turn_ = true;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    if (!read_once()) break;
  }
  in_turn_ = false;
  if (!ended_) settle();
}

// Takes what one read brings. False when nothing is left to do in this turn.
bool Session::read_once() {
  const net::Io got = stream_->read(net::scratch(), net::kScratchBytes);
  if (got.status == net::Io::Status::kWouldBlock) return false;
  if (got.status != net::Io::Status::kMoved) {
    end();
    return false;
  }
  feed({net::scratch(), got.bytes});
  return !ended_ && stream_->readable();
}

void Session::feed(std::string_view bytes) {
  const ssize_t n = nghttp2_session_mem_recv(
      http2_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (n >= 0) return;
  if (n == NGHTTP2_ERR_BAD_CLIENT_MAGIC) return refuse_other_protocol();
  closing_ = true;
  nghttp2_session_terminate_session(http2_, NGHTTP2_ENHANCE_YOUR_CALM);
  flush();
  end();
}

// Most likely somebody tries the port with a browser or curl.
void Session::refuse_other_protocol() {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 505 HTTP Version Not Supported\r\nConnection: close\r\nContent-Length: 61\r\n\r\n"
      "this port speaks gRPC: HTTP/2 with prior knowledge, not this\n";
  stream_->write(kAnswer.data(), kAnswer.size());
  end();
}

// WHY the last one is kept: each header of a call asks, and nghttp2 looks into a table.
Stream* Session::find(std::int32_t id) {
  if (id == found_id_) return found_;
  found_ = static_cast<Stream*>(nghttp2_session_get_stream_user_data(http2_, id));
  found_id_ = id;
  return found_;
}

void Session::begin_stream(std::int32_t id) {
  Stream* const stream = StreamsAtRest::take().release();  // close_stream() takes it back
  stream->id = id;
  stream->began_ns = stream->message_began_ns = loop_.timers().now_ns();
  streams_.push_back(*stream);
  nghttp2_session_set_stream_user_data(http2_, id, stream);
  found_id_ = id;
  found_ = stream;
}

void Session::close_stream(Stream& stream) {
  buffered_ -= stream.in.size();
  unsent_ -= stream.out.size() - stream.sent;
  nghttp2_session_set_stream_user_data(http2_, stream.id, nullptr);
  found_id_ = 0;
  found_ = nullptr;
  streams_.erase(streams_.iterator_to(stream));
  StreamsAtRest::give(std::unique_ptr<Stream>(&stream));
  idle_frames_ = std::min<double>(idle_frames_ + 1, options_.max_idle_frames);
}

void Session::on_headers(Stream& stream) {
  const std::string token = options_.token ? options_.token() : std::string();
  if (auto fault = stream.check_headers(token)) finish(stream, *std::move(fault));
}

void Session::on_data(Stream& stream, std::string_view data) {
  if (stream.ended) return;
  if (buffered_ + data.size() > 4 * std::size_t{options_.max_message}) {
    return finish(stream, {200, Status::kResourceExhausted,
                           "the connection has too many unfinished messages"});
  }
  buffered_ += data.size();
  if (stream.is_stream() && stream.in.empty()) stream.message_began_ns = loop_.timers().now_ns();
  if (auto fault = stream.add_data(data, limits_)) return finish(stream, *std::move(fault));
  if (stream.is_stream()) hand_over(stream);
}

void Session::on_request_end(Stream& stream) {
  if (stream.ended) {
    stream.request_done = true;
    return;
  }
  if (auto fault = stream.finish_request()) return finish(stream, *std::move(fault));
  if (stream.is_stream()) return finish(stream, {});
  if (stream.is_late(loop_.timers().now_ns())) {
    return finish(stream, {200, Status::kDeadlineExceeded, "the call's deadline has passed"});
  }
  hand_over(stream);
}

// Gives the method each whole message.
void Session::hand_over(Stream& stream) {
  while (!stream.ended) {
    const auto message = stream.message();
    if (!message) return;
    if (unsent_ > kMaxUnsentMessages) {
      return finish(stream, {200, Status::kResourceExhausted,
                             "too many answers wait for the connection's flow control"});
    }
    stream.method->handle(*message, Reply(handle_, stream.id));
    const std::size_t before = stream.in.size();
    stream.pop_message();
    buffered_ -= before - stream.in.size();
    if (!stream.is_stream()) return;
    stream.message_began_ns = loop_.timers().now_ns();
    if (auto fault = stream.add_data({}, limits_)) finish(stream, *std::move(fault));
  }
}

void Session::send_message(std::int32_t id, std::string_view message) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->ended) return;
  const std::size_t at = begin_message(stream->out);
  stream->out.append(message);
  unsent_ += kMessageHead + message.size();
  if (finish_message(stream->out, at)) answer(*stream);
}

void Session::end_call(std::int32_t id, Stream::Fault outcome) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->ended) return;
  if (stream->is_late(loop_.timers().now_ns())) {
    unsent_ -= stream->out.size() - stream->sent;
    stream->out.clear();
    stream->sent = 0;
    outcome = {200, Status::kDeadlineExceeded, "the answer came after the call's deadline"};
  }
  finish(*stream, std::move(outcome));
}

void Session::finish(Stream& stream, Stream::Fault outcome) {
  stream.ended = true;
  stream.outcome = std::move(outcome);
  if (stream.answering || !stream.out.empty()) return answer(stream);
  stream.answering = true;
  submitted(stream, submit_answer_without_message(http2_, stream));
}

// Has what is in stream.out sent, and the trailers behind it when the call has ended.
void Session::answer(Stream& stream) {
  if (stream.answering) {
    nghttp2_session_resume_data(http2_, stream.id);
    return;
  }
  stream.answering = true;
  submitted(stream, submit_answer(http2_, stream));
}

void Session::submit_trailers(Stream& stream) {
  submitted(stream, submit_trailers_of(http2_, stream));
}

// A call whose answer nghttp2 cannot take is given up; others go on.
void Session::submitted(Stream& stream, bool taken) {
  if (taken) return;
  nghttp2_submit_rst_stream(http2_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_INTERNAL_ERROR);
}

bool Session::spend_idle_frame() {
  const std::int64_t now = loop_.timers().now_ns();
  idle_frames_ += static_cast<double>(now - idle_frames_at_) / 1e9 * kIdleFramesPerSecond;
  idle_frames_ = std::min<double>(idle_frames_, options_.max_idle_frames);
  idle_frames_at_ = now;
  idle_frames_ -= 1;
  return idle_frames_ >= 0;
}

// Sends what nghttp2 has to send, as far as the socket takes it. False when the peer has to read
// first, or is gone.
//
// WHY nothing before the client has spoken HTTP/2: one that speaks HTTP/1 shall read its 505 first.
bool Session::flush() {
  if (!greeted_) return true;
  std::string& gathered = gathered_by_this_thread();
  while (!unsent_bytes_.empty() || gather(gathered)) {
    const std::string_view bytes = unsent_bytes_.empty() ? gathered : unsent_bytes_;
    const std::size_t sent = send(bytes);
    if (ended_) return false;
    if (sent < bytes.size()) {
      unsent_bytes_ = std::string(bytes.substr(sent));
      return false;
    }
    unsent_bytes_ = {};
  }
  return true;
}

// How many bytes the socket takes. Ends the session when the peer is gone.
std::size_t Session::send(std::string_view bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const net::Io put = stream_->write(bytes.data() + sent, bytes.size() - sent);
    if (put.status == net::Io::Status::kFailed) end();
    if (put.status != net::Io::Status::kMoved) break;
    sent += put.bytes;
  }
  return sent;
}

// Fills `out` anew with what nghttp2 has to send. False when that is nothing.
bool Session::gather(std::string& out) {
  out.clear();
  while (out.size() < kMaxUnsent) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t n = nghttp2_session_mem_send(http2_, &bytes);
    if (n <= 0) break;
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
  }
  return !out.empty();
}

void Session::wake() {
  if (in_turn_ || wake_posted_) return;
  wake_posted_ = true;
  loop_.post([handle = handle_] {
    if (handle->session == nullptr) return;
    handle->session->wake_posted_ = false;
    if (!handle->session->writing_) handle->session->settle();
  });
}

// The end of a turn: sends, and decides what to wait for next.
void Session::settle() {
  const bool all_sent = flush();
  if (ended_) return;
  set_deadline();
  if (!all_sent) {
    writing_ = true;
    return stream_->wait_to_write();
  }
  const bool over = nghttp2_session_want_read(http2_) == 0;
  if (over) return end();
  stream_->wait_to_read();
}

void Session::on_writable() {
  writing_ = false;
  settle();
}

// When the oldest of the messages began that are still to come in whole. Nothing without one.
std::optional<std::int64_t> Session::receiving_since() const {
  std::optional<std::int64_t> since;
  for (const Stream& stream : streams_) {
    if (!stream.is_receiving()) continue;
    since = std::min(since.value_or(stream.message_began_ns), stream.message_began_ns);
  }
  return since;
}

void Session::set_deadline() {
  const auto since = receiving_since();
  if (!since) {
    if (greeted_) return deadline_.expires_after(options_.idle_timeout);
    if (!deadline_.is_set()) deadline_.expires_after(options_.request_timeout);
    return;
  }
  const std::int64_t age = loop_.timers().now_ns() - *since;
  deadline_.expires_after(
      std::max(options_.request_timeout - Duration(age), Duration(std::chrono::milliseconds(1))));
}

void Session::on_deadline() {
  const std::int64_t now = loop_.timers().now_ns();
  bool found = false;
  for (auto it = streams_.begin(); it != streams_.end();) {
    Stream& stream = *it++;
    if (!stream.is_receiving() || stream.ended) continue;
    if (now - stream.message_began_ns < options_.request_timeout.count()) continue;
    found = true;
    finish(stream, {200, Status::kDeadlineExceeded, "the request did not arrive in time"});
  }
  if (!found) return end_of_silence();
  set_deadline();  // for a peer that does not read either: no turn of the session will
  wake();
}

// Says which call was the last: the client knows then that one it sends just now was not taken.
void Session::end_of_silence() {
  nghttp2_session_terminate_session(http2_, NGHTTP2_NO_ERROR);
  flush();
  end();
}

void Session::end() {
  if (ended_) return;
  ended_ = true;
  handle_->session = nullptr;
  deadline_.cancel();
  while (!streams_.empty()) close_stream(streams_.front());
  stream_->close();
  sessions_.remove(*this);
  loop_.post([self = std::unique_ptr<Session>(this)] {});
}

}  // namespace weir::grpc
