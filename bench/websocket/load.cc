// The load of the WebSocket benchmark: so many connections, each with so many messages under way;
// every message that comes back is followed by the next. One thread, epoll.
//
//   bench_ws_load PORT CONNECTIONS DEPTH SECONDS TEXT    prints messages a second
//   bench_ws_load PORT CONNECTIONS idle                  opens them, says "open", waits for input

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "wire/websocket/frame.h"
#include "wire/websocket/frame_tracker.h"

namespace {

using namespace weir;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kHandshake =
    "GET /ws HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "User-Agent: bench\r\nOrigin: http://bench\r\n\r\n";

struct Peer {
  int fd = -1;
  std::string in;
  websocket::FrameTracker frames{websocket::Sender::kServer};
};

[[noreturn]] void fail(const char* what) {
  perror(what);
  exit(1);
}

// An open WebSocket; what came behind the response's head is lost, and nothing does.
int open_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    fail("connect");
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (send(fd, kHandshake.data(), kHandshake.size(), MSG_NOSIGNAL) < 0) fail("send");
  std::string head;
  char buffer[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
    if (size <= 0) fail("no answer to a handshake");
    head.append(buffer, static_cast<std::size_t>(size));
  }
  if (!head.starts_with("HTTP/1.1 101")) fail(head.c_str());
  return fd;
}

// How many messages have come back whole.
int read_messages(Peer& peer) {
  char buffer[65536];
  const ssize_t size = recv(peer.fd, buffer, sizeof buffer, 0);
  if (size <= 0) fail("a connection has ended");
  peer.in.append(buffer, static_cast<std::size_t>(size));
  int messages = 0;
  std::size_t used = 0;
  while (used < peer.in.size()) {
    const auto step = peer.frames.take(std::string_view(peer.in).substr(used));
    if (step.violated) fail("a violation");
    if (step.size == 0) break;
    used += step.size;
    if (peer.frames.between_messages()) ++messages;
  }
  peer.in.erase(0, used);
  return messages;
}

void send_all(int fd, const std::string& bytes) {
  if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    fail("send");
  }
}

void run(std::vector<Peer>& peers, int depth, double seconds, std::string_view text) {
  std::string frame;
  websocket::append_masked_frame(frame, websocket::Opcode::kText, text, {0x12, 0x34, 0x56, 0x78});
  std::string first;
  for (int i = 0; i < depth; ++i) first += frame;
  const int epoll = epoll_create1(0);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(epoll, EPOLL_CTL_ADD, peers[i].fd, &event);
    send_all(peers[i].fd, first);
  }
  long messages = 0;
  std::string next;
  const auto begin = Clock::now();
  const auto end =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  epoll_event events[256];
  while (Clock::now() < end) {
    const int count = epoll_wait(epoll, events, 256, 1000);
    for (int i = 0; i < count; ++i) {
      Peer& peer = peers[events[i].data.u64];
      const int back = read_messages(peer);
      messages += back;
      next.clear();
      for (int n = 0; n < back; ++n) next += frame;
      send_all(peer.fd, next);
    }
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  printf("%ld messages, %.0f a second\n", messages, static_cast<double>(messages) / took.count());
}

}  // namespace

int main(int argc, char** argv) {
  const bool idle = argc == 4 && std::string_view(argv[3]) == "idle";
  if (!idle && argc != 6) {
    fprintf(stderr, "usage: bench_ws_load PORT CONNECTIONS DEPTH SECONDS TEXT, or ... idle\n");
    return 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  std::vector<Peer> peers(static_cast<std::size_t>(atoi(argv[2])));
  for (Peer& peer : peers) peer.fd = open_to(atoi(argv[1]));
  if (idle) {
    printf("open\n");
    fflush(stdout);
    getchar();
    return 0;
  }
  run(peers, atoi(argv[3]), atof(argv[4]), argv[5]);
}
