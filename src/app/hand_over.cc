#include "app/hand_over.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/log.h"

namespace weir::app {
namespace {

constexpr int kPatienceMs = 5000;         // for each step of the other process
constexpr int kServePatienceMs = 60'000;  // until a new process serves: it connects its store first
constexpr char kSocket = 's';             // one follows
constexpr char kEnd = 'e';                // that was all of them
constexpr char kServing = 'r';            // from the new process

bool wait_for(int fd, int patience_ms) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, patience_ms) == 1;
}

union Control {
  char room[CMSG_SPACE(sizeof(int))];
  cmsghdr alignment;
};

// One byte, and with it a descriptor where there is one.
bool send_message(int to, char byte, int fd) {
  iovec part{&byte, 1};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return sendmsg(to, &message, MSG_NOSIGNAL) == 1;
}

struct Message {
  char byte = 0;
  FileDescriptor fd;
};

std::optional<Message> receive_message(int from) {
  if (!wait_for(from, kPatienceMs)) return std::nullopt;
  Message got;
  iovec part{&got.byte, 1};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.room;
  message.msg_controllen = sizeof control.room;
  if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1) return std::nullopt;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    got.fd = FileDescriptor(fd);
  }
  return got;
}

// Whether the other end is our user, or root.
bool is_ours(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

}  // namespace

Result<std::unique_ptr<HandOver>> HandOver::take(std::string path, net::InheritedSockets& into) {
  std::unique_ptr<HandOver> made(new HandOver(std::move(path)));
  Result<FileDescriptor> connected = net::connect_unix_socket(made->path_);
  if (!connected) return made;  // the first of its line
  made->predecessor_ = std::move(*connected);
  if (const Result<bool> received = made->receive(into); !received) return received.error();
  return made;
}

Result<bool> HandOver::receive(net::InheritedSockets& into) {
  while (auto message = receive_message(predecessor_.get())) {
    if (message->byte == kEnd) return true;
    if (message->byte == kSocket && message->fd.get() >= 0) into.add(std::move(message->fd));
  }
  return Error{ErrorCode::kIo, "who listens on " + path_ + " does not hand its sockets over"};
}

Result<bool> HandOver::offer(Offer offer) {
  offer_ = std::move(offer);
  dismiss_predecessor();
  auto bound = net::bind_unix_socket(path_, net::SocketMode::kOwner, file_);
  if (!bound) return bound.error();
  listening_ = std::move(*bound);
  stop_ = FileDescriptor(eventfd(0, EFD_CLOEXEC));
  if (stop_.get() < 0 || listen(listening_.get(), 1) != 0) {
    return Error{ErrorCode::kIo, "cannot listen on " + path_ + ": " + strerror(errno)};
  }
  thread_ = std::thread([this] { run(); });
  return true;
}

// It stops listening on the path before it closes the connection.
void HandOver::dismiss_predecessor() {
  if (predecessor_.get() < 0) return;
  if (send_message(predecessor_.get(), kServing, -1)) wait_for(predecessor_.get(), kPatienceMs);
  predecessor_ = {};
  log::info("took the listening sockets over from the process before");
}

void HandOver::run() {
  while (true) {
    pollfd events[] = {{listening_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (poll(events, 2, -1) < 0 && errno != EINTR) return;
    if (events[1].revents != 0) return;
    const FileDescriptor successor(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (successor.get() < 0 || !is_ours(successor.get())) continue;
    if (!give(successor)) continue;
    listening_ = {};
    { const net::UnixSocketFile removed = std::move(file_); }
    offer_.given();
    return;
  }
}

// True once the successor serves.
bool HandOver::give(const FileDescriptor& successor) {
  for (const FileDescriptor& socket : offer_.sockets()) {
    if (!send_message(successor.get(), kSocket, socket.get())) return false;
  }
  if (!send_message(successor.get(), kEnd, -1)) return false;
  if (!wait_for(successor.get(), kServePatienceMs)) return false;
  const auto answer = receive_message(successor.get());
  return answer && answer->byte == kServing;
}

HandOver::~HandOver() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof one) < 0) log::error("cannot end the hand-over's thread");
  thread_.join();
}

}  // namespace weir::app
