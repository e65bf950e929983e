#include "net/connection.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace weir::net {
namespace {

constexpr std::size_t kSmallInput = 8 * 1024;
constexpr std::size_t kKeptOutput = 16 * 1024;  // capacity that an idle connection may keep
constexpr std::size_t kLeastRead = 2 * 1024;    // less room than this: compact or grow first

}  // namespace

Connection::Connection(TcpSocket socket, std::size_t max_input)
    : socket_(std::move(socket)), max_input_(std::max(max_input, kSmallInput)) {}

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
  socket_.async_read_some(asio::buffer(buffer_.get() + end_, capacity_ - end_),
                          [self = ConnectionPtr(this)](const SystemError& error, std::size_t size) {
                            self->on_read(error, size);
                          });
}

void Connection::on_read(const SystemError& error, std::size_t size) {
  reading_ = false;
  if (closed_) return;
  end_ += size;
  if (error == asio::error::eof) {
    input_ended_ = true;
  } else if (error) {
    input_failed_ = true;
  }
  filled_ = end_ == capacity_;
  if (owner_ != nullptr) owner_->on_input(*this);
}

// Gives pending_ to the kernel; what it does not take moves to sending_. False when it failed.
bool Connection::send_pending() {
  const ssize_t taken =
      ::send(socket_.native_handle(), pending_.data(), pending_.size(), MSG_NOSIGNAL);
  if (taken == static_cast<ssize_t>(pending_.size())) {
    pending_.clear();
    return true;
  }
  if (taken < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return false;
  sending_.clear();
  sending_.swap(pending_);
  sent_ = taken > 0 ? static_cast<std::size_t>(taken) : 0;
  return true;
}

void Connection::flush() {
  if (writing_ || output_failed_ || closed_) return;
  if (!pending_.empty() && !send_pending()) {
    fail_output();
    return;
  }
  if (unsent() != 0) {
    send_rest();
  } else {
    finish_output();
  }
}

void Connection::send_rest() {
  writing_ = true;
  socket_.async_write_some(
      asio::buffer(sending_.data() + sent_, sending_.size() - sent_),
      [self = ConnectionPtr(this)](const SystemError& error, std::size_t size) {
        self->on_sent(error, size);
      });
}

void Connection::on_sent(const SystemError& error, std::size_t size) {
  writing_ = false;
  if (closed_) return;
  if (error) {
    fail_output();
  } else {
    sent_ += size;
    if (sent_ < sending_.size()) {
      send_rest();
      return;
    }
    sending_.clear();
    sent_ = 0;
    flush();
  }
  if (owner_ != nullptr) owner_->on_output(*this);
}

void Connection::fail_output() {
  output_failed_ = true;
  pending_.clear();
  sending_.clear();
  sent_ = 0;
}

void Connection::end_output() {
  output_ending_ = true;
  flush();
}

void Connection::finish_output() {
  if (!output_ending_) return;
  SystemError ignored;
  socket_.shutdown(TcpSocket::shutdown_send, ignored);
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  owner_ = nullptr;
  SystemError ignored;
  socket_.close(ignored);
}

void Connection::reset() {
  if (closed_) return;
  SystemError ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

void Connection::shrink() {
  if (capacity_ > kSmallInput && begin_ == end_) {
    buffer_.reset();
    capacity_ = begin_ = end_ = 0;
  }
  if (!writing_ && sending_.capacity() > kKeptOutput) std::string().swap(sending_);
  if (pending_.empty() && pending_.capacity() > kKeptOutput) std::string().swap(pending_);
}

bool Connection::has_unread_event() {
  char byte;
  return recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
         (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace weir::net
