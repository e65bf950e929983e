// A real redis-server of a test's own: in a temporary folder, on a free port and a Unix socket,
// gone with the object. And the plainest of clients to look into it: one command, one answer.
//
// THREADS: one.

#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_folder.h"
#include "wire/resp/reply.h"
#include "wire/resp/writer.h"

namespace weir::support {

class RedisClient {
 public:
  explicit RedisClient(const std::string& socket_path) {
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RedisClient() { close(fd_); }
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  bool connected() const { return connected_; }

  // The reply lives until the next command. Nothing where the server ends the connection.
  std::optional<resp::Reply> try_send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return std::nullopt;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    in_.clear();
    char chunk[65536];
    while (parser_.parse(in_) != resp::Progress::kComplete) {
      const ssize_t n = recv(fd_, chunk, sizeof chunk, 0);
      if (n <= 0) return std::nullopt;
      in_.append(chunk, static_cast<std::size_t>(n));
    }
    return parser_.reply();
  }
  // The same. REQUIRES: connected(). Aborts when the server goes.
  resp::Reply send(std::string_view bytes) {
    const auto reply = try_send(bytes);
    if (!reply) std::abort();
    return *reply;
  }
  resp::Reply operator()(std::initializer_list<std::string_view> arguments) {
    std::string bytes;
    resp::append_command(bytes, arguments);
    return send(bytes);
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
  std::string in_;
  resp::ReplyParser parser_;
};

// A port that nobody listens on now. Not one of those that the kernel gives to outgoing
// connections, which could take it before its server does, and never the same twice.
inline int free_port() {
  static std::mt19937 random{std::random_device{}()};
  static std::set<int> given;
  for (;;) {
    const int port = std::uniform_int_distribution<int>{10000, 32767}(random);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool is_free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (is_free && given.insert(port).second) return port;
  }
}

// What is started: redis-server, or what WEIR_REDIS_SERVER names (valkey-server).
inline const char* redis_program() {
  const char* given = std::getenv("WEIR_REDIS_SERVER");
  return given != nullptr && *given != '\0' ? given : "redis-server";
}

class RedisServer {
 public:
  // `more`: further arguments, such as {"--requirepass", "secret"}.
  explicit RedisServer(std::vector<std::string> more = {}) : more_(std::move(more)) {
    port_ = free_port();
    start();
  }
  ~RedisServer() { stop(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }
  std::string socket_path() const { return folder_ / "socket"; }
  const std::string& folder() const { return folder_.path(); }

  // Starts it on the same port, and waits until it listens.
  void start() {
    std::vector<std::string> words{redis_program(),
                                   "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   "127.0.0.1",
                                   "--unixsocket",
                                   socket_path(),
                                   "--save",
                                   "",
                                   "--dir",
                                   folder_.path(),
                                   "--appendonly",
                                   "no",
                                   "--daemonize",
                                   "no",
                                   "--logfile",
                                   folder_ / "log"};
    words.insert(words.end(), more_.begin(), more_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // Its output goes nowhere: a server that outlives an aborted test must not hold the pipe that
    // the test runner reads to its end.
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&quiet, 1, 2);
    const int failed =
        posix_spawnp(&pid_, redis_program(), &quiet, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (failed != 0) std::abort();
    for (int i = 0; i < 6000; ++i) {  // a minute: these machines stall
      if (RedisClient(socket_path()).connected()) return;
      poll_once();
    }
    signal(SIGKILL);
    std::abort();
  }
  void stop() {
    if (pid_ == 0) return;
    signal(SIGCONT);
    signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
    std::filesystem::remove(socket_path());
  }
  void signal(int number) const { kill(pid_, number); }

 private:
  // Ten milliseconds, waiting for a child that is not expected to end.
  static void poll_once() {
    timespec wait{0, 10'000'000};
    nanosleep(&wait, nullptr);
  }

  std::vector<std::string> more_;
  TemporaryFolder folder_;
  int port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace weir::support
