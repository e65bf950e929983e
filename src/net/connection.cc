#include "net/connection.h"

#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "net/tls_session.h"

namespace weir::net {
namespace {

constexpr std::size_t kSmallInput = 8 * 1024;
constexpr std::size_t kKeptOutput = 16 * 1024;  // capacity that an idle connection may keep
constexpr std::size_t kLeastRead = 2 * 1024;    // less room than this: compact or grow first

}  // namespace

Connection::Connection(Loop& loop, Transport transport, std::size_t max_input)
    : poller_(loop.poller()),
      transport_(std::move(transport)),
      max_input_(std::max(max_input, kSmallInput)) {
  readable_ = transport_.speaks_tls();  // what came with the handshake makes no edge
  if (poller_.watch(transport_.fd(), *this)) return;
  input_failed_ = output_failed_ = closed_ = true;  // no memory in the kernel
}

Connection::~Connection() = default;

void Connection::on_ready(std::uint32_t events) {
  // In TLS a read may wait for room and a write for bytes: either event may be what was missing.
  if (transport_.speaks_tls() && events != 0) {
    transport_.tls().note_event();
    events |= EPOLLIN | EPOLLOUT;
  }
  if ((events & EPOLLIN) != 0) readable_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) readable_ = peer_ended_ = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0 && writing_ && !closed_) {
    send();
    if (owner_ != nullptr) owner_->on_output(*this);
  }
  if (reading_ && readable_ && !closed_) receive();
}

void Connection::consume(std::size_t size) {
  begin_ += size;
  if (begin_ == end_ && !reading_) begin_ = end_ = 0;
}

// Moves what is there into a buffer of `capacity` bytes, to its front.
void Connection::grow(std::size_t capacity) {
  auto bigger = std::make_unique_for_overwrite<char[]>(capacity);
  if (end_ > begin_) memcpy(bigger.get(), buffer_.get() + begin_, end_ - begin_);
  buffer_ = std::move(bigger);
  capacity_ = capacity;
  end_ -= begin_;
  begin_ = 0;
}

bool Connection::make_room() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (capacity_ - end_ >= kLeastRead && !(filled_ && capacity_ < max_input_)) return true;
  if (begin_ != 0) {
    memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (capacity_ < max_input_ && (filled_ || capacity_ - end_ < kLeastRead)) {
    grow(std::min(std::max(capacity_ * 4, kSmallInput), max_input_));
  }
  filled_ = false;
  return end_ < capacity_;
}

void Connection::read() {
  if (reading_ || input_over() || input_full() || !make_room()) return;
  reading_ = true;
  if (readable_) poller_.wake(*this);
}

void Connection::receive() {
  const std::size_t room = capacity_ - end_;
  const Io got = transport_.read(buffer_.get() + end_, room);
  if (got.status == Io::Status::kWouldBlock) {
    readable_ = false;
    return;
  }
  reading_ = false;
  if (got.status == Io::Status::kMoved) {
    end_ += got.bytes;
    filled_ = end_ == capacity_;
    // New input makes a new edge; the end behind the last bytes has made its own.
    if (!peer_ended_ && transport_.took_all(got, room)) readable_ = false;
  } else {
    (got.status == Io::Status::kEnded ? input_ended_ : input_failed_) = true;
  }
  if (owner_ != nullptr) owner_->on_input(*this);
}

void Connection::flush() {
  if (!writing_ && !output_failed_ && !closed_) send();
}

// Gives the kernel what it takes; the rest goes when it says that there is room.
void Connection::send() {
  writing_ = false;
  if (unsent() != 0) {
    const Io taken = transport_.write(output_.data() + sent_, output_.size() - sent_);
    if (taken.status == Io::Status::kFailed) {
      fail_output();
      return;
    }
    sent_ += taken.bytes;
    if (unsent() != 0) {
      writing_ = true;
      // What has gone makes room for what is appended, before it becomes much.
      if (sent_ > output_.size() / 2) output_.erase(0, std::exchange(sent_, 0));
      return;
    }
    output_.clear();
    sent_ = 0;
  }
  if (output_ending_ && !transport_.end_output()) writing_ = true;
}

void Connection::fail_output() {
  output_failed_ = true;
  output_.clear();
  sent_ = 0;
}

void Connection::end_output() {
  output_ending_ = true;
  flush();
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  owner_ = nullptr;
  transport_.close();
  poller_.forget(*this);  // may destroy this
}

void Connection::reset() {
  if (closed_) return;
  transport_.reset();
  close();
}

void Connection::shrink() {
  if (capacity_ > kSmallInput && begin_ == end_) {
    buffer_.reset();
    capacity_ = begin_ = end_ = 0;
  }
  if (output_.empty() && output_.capacity() > kKeptOutput) std::string().swap(output_);
}

}  // namespace weir::net
