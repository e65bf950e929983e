// A connection of the gRPC server, HTTP/2 and all, over a real socket pair: the methods are handed
// the same messages whether the bytes come whole or in pieces, and the connection ends when it is
// told to. The first byte picks the pieces' size, and whether HTTP/2's preface goes before the
// rest, which no mutation would find.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "fuzz/support.h"
#include "net/loop.h"
#include "serve/grpc/session.h"

namespace {

using namespace weir;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string* handed_over = nullptr;

const grpc::Methods& methods() {
  const auto note = [](std::string_view message) {
    fuzz::append_part(*handed_over, "message", message);
  };
  static const grpc::Methods methods = {
      {"/t.T/Echo", grpc::Kind::kUnary,
       [note](std::string_view message, grpc::Reply reply) {
         note(message);
         reply.finish(message);
       }},
      {"/t.T/Chat", grpc::Kind::kStream,
       [note](std::string_view message, grpc::Reply reply) {
         note(message);
         reply.send(message);
       }},
      {"/t.T/Watch", grpc::Kind::kWatch,
       [note](std::string_view message, grpc::Reply reply) {
         note(message);
         reply.send(message);
       }},
  };
  return methods;
}

// Everything that the server has said is read and dropped, so that it never waits for us.
void read_all(int fd) {
  std::array<char, 65536> bytes;
  while (::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
}

// What the methods were handed of `bytes`.
std::string serve(std::string_view bytes, std::size_t piece) {
  static net::Loop loop(0);
  std::string handed;
  handed_over = &handed;
  int fds[2];
  fuzz::require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0, "a socket pair");
  const FileDescriptor client(fds[0]);
  net::SessionSet sessions;
  const grpc::Options options;
  new grpc::Session(loop, sessions, net::Transport(FileDescriptor(fds[1])), options, methods());
  for (std::size_t at = 0; at < bytes.size() && sessions.size() != 0; at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    // It fits: the socket's buffer is larger than any input. A server that has hung up is no error.
    if (::send(client.get(), part.data(), part.size(), MSG_NOSIGNAL) < 0) break;
    loop.run_ready();
    read_all(client.get());
  }
  for (int i = 0; i < 3; ++i) loop.run_ready();
  sessions.abort_all();
  for (int i = 0; i < 100 && sessions.size() != 0; ++i) loop.run_ready();
  fuzz::require(sessions.size() == 0, "an aborted session ends");
  loop.run_ready();  // it destroys itself by a post
  return handed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes((data[0] & 0x80) != 0 ? kPreface : "");
  bytes += fuzz::text(data + 1, size - 1);
  const std::size_t piece = 1 + data[0] % 0x7f;
  fuzz::require_equal(serve(bytes, bytes.size()), serve(bytes, piece),
                      "the same messages whole and in pieces");
  return 0;
}
