#include "serve/resp/session.h"

#include <atomic>

#include "base/clock.h"
#include "wire/resp/writer.h"

namespace weir::resp {
namespace {

constexpr std::size_t kScratchBytes = 64 * 1024;
constexpr int kReadsPerTurn = 8;  // then others get theirs
constexpr std::size_t kMaxDiscard = 1 << 20;
constexpr Duration kLingerTime = std::chrono::seconds(2);

char* scratch() {
  static thread_local char buffer[kScratchBytes];
  return buffer;
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Session::Session(net::Loop& loop, net::SessionSet& sessions, net::TcpSocket socket,
                 const Options& options, const Commands& table)
    : loop_(loop),
      sessions_(sessions),
      socket_(std::move(socket)),
      options_(options),
      commands_(table),
      deadline_(loop.timers(), [this] { on_deadline(); }),
      parser_(options.command) {
  id = next_id();
  Client::commands = &commands_;
  sessions_.add(*this);
  set_deadline();
  wait_to_read();
}

// Commands that have come are answered; then the connection ends.
void Session::drain() {
  quitting = true;
  if (!in_turn_ && !writing_ && !lingering_) settle();
}

void Session::wait_to_read() {
  if (reading_) return;
  reading_ = true;
  socket_.async_wait(net::TcpSocket::wait_read, [this](const net::SystemError& error) {
    reading_ = false;
    if (ended_) return destroy();
    if (error) return end();
    lingering_ ? discard() : on_readable();
  });
}

void Session::on_readable() {
  if (writing_ || !may_consume()) return;  // settle() asks again
  in_turn_ = true;
  now = commands_.now();
  for (int i = 0; i < kReadsPerTurn && read_once(); ++i) {
  }
  in_turn_ = false;
  if (!ended_) settle();
}

// Takes what one read brings. False when nothing is left to do in this turn.
bool Session::read_once() {
  net::SystemError error;
  const std::size_t n = socket_.read_some(net::asio::buffer(scratch(), kScratchBytes), error);
  if (error == net::asio::error::would_block) return false;
  if (error) {
    // The peer sends no more. What it has asked and is owed goes out first.
    peer_done_ = true;
    return false;
  }
  feed({scratch(), n});
  return n == kScratchBytes && may_consume();
}

void Session::feed(std::string_view arrived) {
  if (pending_.empty()) {
    pending_.assign(arrived.substr(consume(arrived)));
  } else {
    pending_.append(arrived);
    pending_.erase(0, consume(pending_));
  }
}

bool Session::may_consume() const {
  return !quitting && replies.waiting() < options_.max_waiting &&
         replies.ready().size() - sent_ < options_.max_unsent;
}

// Runs every whole command at the front; returns how many bytes they took.
std::size_t Session::consume(std::string_view data) {
  std::size_t done = 0;
  while (done < data.size() && may_consume()) {
    const Progress progress = parser_.parse(data.substr(done));
    if (progress == Progress::kNeedMore) break;
    if (progress == Progress::kError) {
      fail(parser_.error());
      break;
    }
    in_command_ = false;
    if (!parser_.arguments().empty()) commands_.run(parser_.arguments(), *this);
    done += parser_.consumed();
  }
  return quitting ? data.size() : done;
}

// Commands that had to wait until earlier replies were sent. True when there is more to send now.
bool Session::consume_pending() {
  if (quitting || pending_.empty() || !may_consume()) return false;
  in_turn_ = true;
  now = commands_.now();
  pending_.erase(0, consume(pending_));
  in_turn_ = false;
  return sent_ < replies.ready().size();
}

void Session::fail(std::string_view message) {
  append_error(replies.now(), "ERR Protocol error: " + std::string(message));
  quitting = true;
}

void Session::on_reply(Replies::Place place) {
  replies.fill(place);
  if (ended_) return destroy();
  if (in_turn_ || wake_posted_) return;
  wake_posted_ = true;
  loop_.post([this] {
    wake_posted_ = false;
    if (ended_) return destroy();
    if (!writing_) settle();
  });
}

// Writes what can be written now. False when the peer has to read first, or is gone.
bool Session::flush() {
  std::string& out = replies.ready();
  while (sent_ < out.size()) {
    net::SystemError error;
    sent_ += socket_.write_some(net::asio::buffer(out.data() + sent_, out.size() - sent_), error);
    if (error == net::asio::error::would_block) {
      wait_to_write();
      return false;
    }
    if (error) {
      end();
      return false;
    }
  }
  out.clear();
  if (out.capacity() > kScratchBytes) out.shrink_to_fit();
  sent_ = 0;
  return true;
}

void Session::wait_to_write() {
  writing_ = true;
  deadline_.expires_after(options_.idle_timeout);
  socket_.async_wait(net::TcpSocket::wait_write, [this](const net::SystemError& error) {
    writing_ = false;
    if (ended_) return destroy();
    if (error) return end();
    settle();
  });
}

// The end of a turn: sends, and decides what to wait for next.
void Session::settle() {
  do {
    if (!flush()) return;
  } while (consume_pending());
  const bool all_run = quitting || (peer_done_ && may_consume());
  if (all_run && replies.waiting() == 0) return peer_done_ ? end() : linger();
  if (pending_.empty() && pending_.capacity() > kScratchBytes) pending_.shrink_to_fit();
  if (!may_consume()) return deadline_.cancel();  // the next reply wakes us
  set_deadline();
  if (!peer_done_) wait_to_read();
}

void Session::set_deadline() {
  if (pending_.empty()) {
    in_command_ = false;
    deadline_.expires_after(options_.idle_timeout);
  } else if (!in_command_) {
    in_command_ = true;
    deadline_.expires_after(options_.command_timeout);
  }
}

void Session::on_deadline() {
  if (in_command_ && !writing_ && !lingering_) {
    append_error(replies.now(), "ERR the command did not arrive in time");
    flush();
  }
  end();
}

// Closes so that the last reply is read: closing with unread bytes would reset the connection, and
// the reset can overtake the reply.
void Session::linger() {
  if (lingering_) return;
  lingering_ = true;
  net::SystemError ignored;
  socket_.shutdown(net::TcpSocket::shutdown_send, ignored);
  deadline_.expires_after(kLingerTime);
  wait_to_read();
}

void Session::discard() {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    net::SystemError error;
    discarded_ += socket_.read_some(net::asio::buffer(scratch(), kScratchBytes), error);
    if (error == net::asio::error::would_block) break;
    if (error || discarded_ > kMaxDiscard) return end();
  }
  wait_to_read();
}

void Session::end() {
  if (ended_) return;
  ended_ = true;
  deadline_.cancel();
  net::SystemError ignored;
  socket_.close(ignored);
  sessions_.remove(*this);
  destroy();
}

// Once nothing refers to the session any more: no wait, no post, no decision.
void Session::destroy() {
  if (reading_ || writing_ || wake_posted_ || in_turn_ || replies.waiting() > 0 || destroying_) {
    return;
  }
  destroying_ = true;
  loop_.post([self = std::unique_ptr<Session>(this)] {});
}

}  // namespace weir::resp
