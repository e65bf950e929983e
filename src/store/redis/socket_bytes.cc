#include "store/redis/socket_bytes.h"

#include <errno.h>

#include <utility>

namespace weir::store::redis {
namespace {

using net::Io;
using net::SystemError;
namespace asio = net::asio;

// Of the system call that has just failed.
SystemError last_error() {
  return {errno, boost::system::system_category()};
}

}  // namespace

SocketBytes::SocketBytes(net::Loop& loop, FileDescriptor socket)
    : loop_(loop), stream_(new net::Stream(loop, net::Transport(std::move(socket)))) {
  stream_->set_owner(this);
}

SocketBytes::~SocketBytes() {
  stream_->close();
}

void SocketBytes::read(asio::mutable_buffer into, Stream::OnBytes done) {
  if (stream_->closed()) return end_soon(std::move(done), asio::error::operation_aborted, 0);
  into_ = into;
  on_read_ = std::move(done);
  stream_->wait_to_read();
}

void SocketBytes::on_readable() {
  const Io got = stream_->read(static_cast<char*>(into_.data()), into_.size());
  SystemError error;
  if (got.status == Io::Status::kFailed) error = last_error();
  if (got.status == Io::Status::kEnded) error = asio::error::eof;
  if (got.status == Io::Status::kWouldBlock) return stream_->wait_to_read();
  // WHY named: the callback may be the last to hold this.
  const auto self = shared_from_this();
  const Stream::OnBytes done = std::exchange(on_read_, nullptr);
  done(error, got.bytes);
}

void SocketBytes::write(asio::const_buffer all, Stream::OnBytes done) {
  if (stream_->closed()) return end_soon(std::move(done), asio::error::operation_aborted, 0);
  left_ = all;
  written_ = 0;
  on_written_ = std::move(done);
  on_writable();
}

// Each send ends soon rather than here, as write() comes here too.
void SocketBytes::on_writable() {
  while (left_.size() > 0) {
    const Io sent = stream_->write(static_cast<const char*>(left_.data()), left_.size());
    if (sent.status == Io::Status::kWouldBlock) return stream_->wait_to_write();
    if (sent.status != Io::Status::kMoved) {
      const SystemError error = last_error();
      return end_soon(std::exchange(on_written_, nullptr), error, written_);
    }
    left_ += sent.bytes;
    written_ += sent.bytes;
  }
  end_soon(std::exchange(on_written_, nullptr), {}, written_);
}

std::size_t SocketBytes::write_now(asio::const_buffer bytes) {
  if (stream_->closed()) return 0;
  return stream_->write(static_cast<const char*>(bytes.data()), bytes.size()).bytes;
}

void SocketBytes::close() {
  stream_->close();
  if (on_read_) end_soon(std::exchange(on_read_, nullptr), asio::error::operation_aborted, 0);
  if (on_written_) {
    end_soon(std::exchange(on_written_, nullptr), asio::error::operation_aborted, written_);
  }
}

void SocketBytes::end_soon(Stream::OnBytes done, const SystemError& error, std::size_t bytes) {
  loop_.post([done = std::move(done), error, bytes] { done(error, bytes); });
}

}  // namespace weir::store::redis
