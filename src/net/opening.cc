#include "net/opening.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "net/tls_session.h"
#include "wire/proxy_protocol/header.h"

namespace weir::net {

using Progress = proxy_protocol::Header::Progress;

Opening::Opening(Loop& loop, Owner& owner, Transport transport, bool proxy_header)
    : poller_(loop.poller()),
      owner_(&owner),
      transport_(std::move(transport)),
      header_wanted_(proxy_header) {}

void Opening::start() {
  watched_ = poller_.watch(transport_.fd(), *this);
  poller_.wake(*this);
}

void Opening::on_ready(std::uint32_t) {
  if (owner_ == nullptr) return;
  if (!watched_) return fail("no memory in the kernel");
  go_on();
}

void Opening::go_on() {
  if (header_wanted_ && !read_proxy_header()) return;
  if (transport_.speaks_tls()) return shake_hands();
  finish();
}

// Looks at what has come, and takes it only once it is a whole header: what follows is not ours.
bool Opening::read_proxy_header() {
  std::array<char, proxy_protocol::kMaxHeaderBytes> bytes;
  const ssize_t size = ::recv(transport_.fd(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (size <= 0) {
    fail(size == 0 ? "the peer closed the connection" : strerror(errno));
    return false;
  }
  const auto header = proxy_protocol::parse({bytes.data(), static_cast<std::size_t>(size)});
  if (header.progress == Progress::kError) {
    fail(std::string(header.error));
    return false;
  }
  if (header.progress == Progress::kNeedMore) return false;
  if (::recv(transport_.fd(), bytes.data(), header.size, 0) < 0) {
    fail(strerror(errno));
    return false;
  }
  source_ = header.source;
  header_wanted_ = false;
  return true;
}

void Opening::shake_hands() {
  const Io done = transport_.tls().handshake();
  if (done.status == Io::Status::kWouldBlock) return;
  if (done.status == Io::Status::kMoved) return finish();
  const std::string& why = transport_.tls().error();
  fail(why.empty() ? "the peer closed the connection" : std::string(why));
}

void Opening::finish() {
  const OpeningPtr keep(this);
  poller_.release(transport_.fd(), *this);
  watched_ = false;
  std::exchange(owner_, nullptr)->on_open(std::move(transport_), source_);
}

void Opening::fail(const std::string& why) {
  Owner* const owner = owner_;
  const OpeningPtr keep(this);
  close();
  owner->on_open_failed(header_wanted_ ? Stage::kProxyHeader : Stage::kTls, why);
}

void Opening::close() {
  if (owner_ == nullptr) return;
  owner_ = nullptr;
  transport_.close();
  if (std::exchange(watched_, false)) poller_.forget(*this);  // may destroy this
}

}  // namespace weir::net
