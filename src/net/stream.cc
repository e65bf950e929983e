#include "net/stream.h"

#include <sys/epoll.h>

#include <utility>

#include "net/tls_session.h"

namespace weir::net {

namespace {

constexpr std::size_t kMaxDiscard = 1 << 20;
constexpr int kReadsPerTurn = 8;  // then others get theirs

}  // namespace

char* scratch() {
  static thread_local char buffer[kScratchBytes];
  return buffer;
}

Stream::Stream(Loop& loop, Transport transport)
    : poller_(loop.poller()), transport_(std::move(transport)) {
  readable_ = transport_.speaks_tls();  // what came with the handshake makes no edge
  if (poller_.watch(transport_.fd(), *this)) return;
  transport_.close();  // no memory in the kernel: every read and write fails
  readable_ = peer_ended_ = true;
}

Io Stream::read(char* into, std::size_t room) {
  const Io got = transport_.read(into, room);
  const bool all = transport_.took_all(got, room);
  // New input makes a new edge; the end behind the last bytes has made its own.
  if (all && (!peer_ended_ || got.status == Io::Status::kWouldBlock)) readable_ = false;
  return got;
}

bool Stream::discard() {
  for (int i = 0; i < kReadsPerTurn && readable_; ++i) {
    const Io got = read(scratch(), kScratchBytes);
    if (got.status == Io::Status::kWouldBlock) break;
    discarded_ += got.bytes;
    if (got.status != Io::Status::kMoved || discarded_ > kMaxDiscard) return false;
  }
  return true;
}

void Stream::wait_to_read() {
  if (reading_ || closed_) return;
  reading_ = true;
  if (readable_) poller_.wake(*this);
}

void Stream::on_ready(std::uint32_t events) {
  // In TLS a read may wait for room and a write for bytes: either event may be what was missing.
  if (transport_.speaks_tls() && events != 0) {
    transport_.tls().note_event();
    events |= EPOLLIN | EPOLLOUT;
  }
  if ((events & EPOLLIN) != 0) readable_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) readable_ = peer_ended_ = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0 && writing_ && owner_ != nullptr) {
    writing_ = false;
    owner_->on_writable();
  }
  if (reading_ && readable_ && owner_ != nullptr) {
    reading_ = false;
    owner_->on_readable();
  }
}

void Stream::close() {
  if (closed_) return;
  closed_ = true;
  owner_ = nullptr;
  const bool watched = transport_.is_open();
  transport_.close();
  if (watched) poller_.forget(*this);  // may destroy this
}

}  // namespace weir::net
