#include "serve/demo/echo_session.h"

#include <memory>

#include "net/write_out.h"

namespace weir::demo {

namespace {

using websocket::CloseCode;
using websocket::Event;
using websocket::Opcode;

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kMaxUnsent = 256 * 1024;
constexpr Duration kSilence = std::chrono::seconds(60);   // until a ping, and until the end
constexpr Duration kCloseTime = std::chrono::seconds(2);  // for the peer's close

}  // namespace

EchoSession::EchoSession(net::Loop& loop, net::SessionSet& sessions, net::StreamPtr stream,
                         std::string rest)
    : loop_(loop),
      sessions_(sessions),
      stream_(std::move(stream)),
      deadline_(loop.timers(), [this] { on_deadline(); }),
      pending_(std::move(rest)) {
  sessions_.add(*this);
  stream_->set_owner(this);
  deadline_.expires_after(kSilence);
  if (sessions_.draining()) close(CloseCode::kGoingAway, "the demo service stops");
  go_on();
}

void EchoSession::drain() {
  close(CloseCode::kGoingAway, "the demo service stops");
  go_on();
}

// Understands what has arrived. False when it stopped before the end since too much waits to be
// sent.
bool EchoSession::take_pending() {
  std::size_t used = 0;
  while (!close_received_ && out_.size() - sent_ < kMaxUnsent) {
    const Event event = reader_.read({pending_.data() + used, pending_.size() - used});
    used += event.consumed;
    if (!take_event(event) && event.consumed == 0) break;
  }
  pending_.erase(0, close_received_ ? pending_.size() : used);
  return out_.size() - sent_ < kMaxUnsent;
}

// False when more bytes are needed.
bool EchoSession::take_event(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kNeedMore:
      return false;
    case Event::Kind::kMessage:
      take_message(event);
      return true;
    case Event::Kind::kPing:
      if (!close_sent_) websocket::append_frame(out_, Opcode::kPong, event.payload);
      return true;
    case Event::Kind::kPong:
      return true;
    case Event::Kind::kClose:
      close_received_ = true;
      close(static_cast<CloseCode>(event.close_code), {});
      return true;
    case Event::Kind::kViolation:
      close_received_ = true;
      close(event.violation.code, event.violation.message);
      return true;
  }
  return false;
}

void EchoSession::take_message(const Event& event) {
  if (close_sent_) return;
  message_.append(event.payload);
  if (!event.last) return;
  websocket::append_frame(out_, event.opcode, message_);
  message_.clear();
  if (message_.capacity() > kMaxUnsent) message_.shrink_to_fit();
}

void EchoSession::close(CloseCode code, std::string_view reason) {
  if (close_sent_) return;
  close_sent_ = true;
  websocket::append_close(out_, code, reason);
  deadline_.expires_after(kCloseTime);
}

// The end of a turn: sends, and decides what to wait for next.
void EchoSession::go_on() {
  if (ended_) return;
  for (bool all = false; !all;) {
    all = take_pending();
    if (!flush()) return;
  }
  if (close_sent_ && close_received_ && !shut_down_) {
    shut_down_ = true;
    stream_->end_output();
  }
  stream_->wait_to_read();
}

// Writes what can be written now. False when the peer has to read first, or is gone.
bool EchoSession::flush() {
  if (writing_) return false;
  const net::Io::Status status = net::write_out(*stream_, out_, sent_);
  if (status == net::Io::Status::kMoved) return true;
  if (status == net::Io::Status::kWouldBlock) {
    writing_ = true;
    stream_->wait_to_write();
  } else {
    end();
  }
  return false;
}

void EchoSession::on_writable() {
  writing_ = false;
  go_on();
}

void EchoSession::on_readable() {
  const std::size_t before = pending_.size();
  pending_.resize(before + kReadBytes);
  const net::Io got = stream_->read(pending_.data() + before, kReadBytes);
  pending_.resize(before + got.bytes);
  using Status = net::Io::Status;
  if (got.status == Status::kEnded || got.status == Status::kFailed) return end();
  if (got.bytes != 0 && !close_sent_) {
    pinged_ = false;
    deadline_.expires_after(kSilence);
  }
  go_on();
}

void EchoSession::on_deadline() {
  if (pinged_ || close_sent_) return end();
  pinged_ = true;
  websocket::append_frame(out_, Opcode::kPing, {});
  deadline_.expires_after(kSilence);
  go_on();
}

void EchoSession::end() {
  if (ended_) return;
  ended_ = true;
  deadline_.cancel();
  stream_->close();
  sessions_.remove(*this);
  loop_.post([self = std::unique_ptr<EchoSession>(this)] {});
}

}  // namespace weir::demo
