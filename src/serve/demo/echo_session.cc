#include "serve/demo/echo_session.h"

#include <memory>

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

EchoSession::EchoSession(net::Loop& loop, net::SessionSet& sessions, net::TcpSocket socket,
                         std::string rest)
    : loop_(loop),
      sessions_(sessions),
      socket_(std::move(socket)),
      deadline_(loop.timers(), [this] { on_deadline(); }),
      pending_(std::move(rest)) {
  sessions_.add(*this);
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
    net::SystemError ignored;
    socket_.shutdown(net::TcpSocket::shutdown_send, ignored);
  }
  wait_to_read();
}

// Writes what can be written now. False when the peer has to read first, or is gone.
bool EchoSession::flush() {
  if (waiting_to_write_) return false;
  while (sent_ < out_.size()) {
    net::SystemError error;
    sent_ += socket_.write_some(net::asio::buffer(out_.data() + sent_, out_.size() - sent_), error);
    if (error == net::asio::error::would_block) {
      wait_to_write();
      return false;
    }
    if (error) {
      end();
      return false;
    }
  }
  out_.clear();
  sent_ = 0;
  return true;
}

void EchoSession::wait_to_write() {
  waiting_to_write_ = true;
  socket_.async_wait(net::TcpSocket::wait_write, [this](const net::SystemError& error) {
    if (ended_) return;
    waiting_to_write_ = false;
    if (error) return end();
    go_on();
  });
}

void EchoSession::wait_to_read() {
  if (waiting_to_read_) return;
  waiting_to_read_ = true;
  socket_.async_wait(net::TcpSocket::wait_read, [this](const net::SystemError& error) {
    if (ended_) return;
    waiting_to_read_ = false;
    if (error) return end();
    read_some();
  });
}

void EchoSession::read_some() {
  const std::size_t before = pending_.size();
  pending_.resize(before + kReadBytes);
  net::SystemError error;
  const std::size_t n =
      socket_.read_some(net::asio::buffer(pending_.data() + before, kReadBytes), error);
  pending_.resize(before + n);
  if (error && error != net::asio::error::would_block) return end();
  if (n != 0 && !close_sent_) {
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
  net::SystemError ignored;
  socket_.close(ignored);
  sessions_.remove(*this);
  loop_.post([self = std::unique_ptr<EchoSession>(this)] {});
}

}  // namespace weir::demo
