#include "serve/resp/session.h"

#include <atomic>

#include "base/clock.h"
#include "net/write_out.h"
#include "wire/resp/writer.h"

namespace weir::resp {
namespace {

constexpr int kReadsPerTurn = 8;  // then others get theirs
constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr Duration kDrainGrace = std::chrono::seconds(1);

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Session::Session(net::Loop& loop, net::SessionSet& sessions, net::Transport transport,
                 const Options& options, const Commands& table)
    : loop_(loop),
      sessions_(sessions),
      stream_(new net::Stream(loop, std::move(transport))),
      options_(options),
      commands_(table),
      deadline_(loop.timers(), [this] { on_deadline(); }),
      parser_(options.command) {
  id = next_id();
  Client::commands = &commands_;
  sessions_.add(*this);
  set_deadline();
  stream_->set_owner(this);
  stream_->wait_to_read();
}

// Commands that have come are answered; then the connection ends. One that has yet to speak is
// given a moment, since what its client asks may be on the way.
void Session::drain() {
  if (!in_turn_ && !writing_ && !lingering_) read_commands();
}

void Session::on_readable() {
  if (!lingering_) return read_commands();
  if (!stream_->discard()) return end();
  stream_->wait_to_read();
}

void Session::read_commands() {
  if (writing_ || !may_consume()) return;  // settle() asks again
  in_turn_ = true;
  now = commands_.now();
  for (int i = 0; i < kReadsPerTurn && read_once() && may_consume(); ++i) {
  }
  in_turn_ = false;
  if (!ended_) settle();
}

// Takes what one read brings. False when nothing is left to do in this turn.
bool Session::read_once() {
  const net::Io got = stream_->read(net::scratch(), net::kScratchBytes);
  if (got.status == net::Io::Status::kWouldBlock) return false;
  if (got.status != net::Io::Status::kMoved) {
    // The peer sends no more. What it has asked and is owed goes out first.
    peer_done_ = true;
    return false;
  }
  feed({net::scratch(), got.bytes});
  return stream_->readable();
}

void Session::feed(std::string_view arrived) {
  spoken_ = true;
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
  const net::Io::Status status = net::write_out(*stream_, replies.ready(), sent_);
  if (status == net::Io::Status::kMoved) return true;
  status == net::Io::Status::kWouldBlock ? wait_to_write() : end();
  return false;
}

void Session::wait_to_write() {
  writing_ = true;
  deadline_.expires_after(options_.idle_timeout);
  stream_->wait_to_write();
}

void Session::on_writable() {
  writing_ = false;
  settle();
}

// The end of a turn: sends, and decides what to wait for next.
void Session::settle() {
  do {
    if (!flush()) return;
  } while (consume_pending());
  const bool last = peer_done_ || (leaving() && !stream_->readable());
  const bool all_run = quitting || (last && may_consume());
  if (all_run && replies.waiting() == 0) return peer_done_ ? end() : linger();
  if (pending_.empty() && pending_.capacity() > net::kScratchBytes) pending_.shrink_to_fit();
  if (!may_consume()) return deadline_.cancel();  // the next reply wakes us
  set_deadline();
  if (!peer_done_) stream_->wait_to_read();
}

void Session::set_deadline() {
  if (pending_.empty()) {
    in_command_ = false;
    deadline_.expires_after(sessions_.draining() ? kDrainGrace : options_.idle_timeout);
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
  stream_->end_output();
  deadline_.expires_after(kLingerTime);
  stream_->wait_to_read();
}

void Session::end() {
  if (ended_) return;
  ended_ = true;
  deadline_.cancel();
  stream_->close();
  sessions_.remove(*this);
  destroy();
}

// Once nothing refers to the session any more: no post, no decision.
void Session::destroy() {
  if (wake_posted_ || in_turn_ || replies.waiting() > 0 || destroying_) {
    return;
  }
  destroying_ = true;
  loop_.post([self = std::unique_ptr<Session>(this)] {});
}

}  // namespace weir::resp
