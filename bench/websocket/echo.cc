// The upstream of the WebSocket benchmark: agrees to every handshake and sends each message back as
// cheaply as it can: unmasked, one frame for one frame. One thread, epoll.
//
//   bench_ws_echo PORT

#include <stdio.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "listen.h"
#include "wire/websocket/handshake.h"
#include "wire/websocket/reader.h"

namespace {

using namespace weir;

struct Peer {
  bool open = false;
  std::string in;
  std::string message;
  websocket::Reader reader{websocket::Sender::kClient, {.max_message_bytes = 1 << 30}};
};

void open(Peer& peer, std::string& out) {
  const auto end = peer.in.find("\r\n\r\n");
  if (end == std::string::npos) return;
  http1::RequestParser parser;
  if (parser.parse(peer.in) != http1::Progress::kComplete) return;
  out += "HTTP/1.1 101 Switching Protocols\r\n";
  websocket::append_handshake_headers(out, websocket::read_handshake(parser.head()).key);
  out += "\r\n";
  peer.in.erase(0, parser.consumed());
  peer.open = true;
}

void echo(Peer& peer, std::string& out) {
  std::size_t used = 0;
  for (;;) {
    const auto event = peer.reader.read({peer.in.data() + used, peer.in.size() - used});
    used += event.consumed;
    if (event.kind == websocket::Event::Kind::kNeedMore && event.consumed == 0) break;
    if (event.kind == websocket::Event::Kind::kViolation) break;
    if (event.kind != websocket::Event::Kind::kMessage) continue;
    peer.message += event.payload;
    if (!event.last) continue;
    websocket::append_frame(out, event.opcode, peer.message);
    peer.message.clear();
  }
  peer.in.erase(0, used);
}

// False when the peer is gone. Answers are small enough for the kernel to take at once: the load
// generator never has more under way than it reads.
bool serve(int fd, Peer& peer) {
  char buffer[65536];
  const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
  if (size <= 0) return false;
  peer.in.append(buffer, static_cast<std::size_t>(size));
  std::string out;
  if (!peer.open) open(peer, out);
  if (peer.open) echo(peer, out);
  return out.empty() || send(fd, out.data(), out.size(), MSG_NOSIGNAL) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int listening = argc == 2 ? bench::listen_on(atoi(argv[1])) : -1;
  if (listening < 0) {
    fprintf(stderr, "usage: bench_ws_echo PORT, where PORT is free\n");
    return 2;
  }
  std::unordered_map<int, std::unique_ptr<Peer>> peers;
  bench::serve_all(listening, [&](int fd) {
    auto& peer = peers[fd];
    if (!peer) peer = std::make_unique<Peer>();
    if (serve(fd, *peer)) return true;
    peers.erase(fd);
    return false;
  });
}
