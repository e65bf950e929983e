// Peers that are no Redis, or none that can be trusted: they speak nonsense, say nothing, leave
// answers out, or answer something else.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "redis/faults.h"
#include "wire/resp/command.h"

namespace weir {
namespace {

using namespace support;

// Accepts on a port of its own, and gives each connection to `serve` on a thread.
class Peer {
 public:
  explicit Peer(std::function<void(int fd)> serve) : serve_(std::move(serve)) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    listen(fd_, 16);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~Peer() {
    shutdown(fd_, SHUT_RDWR);
    acceptor_.join();
    for (const int peer : peers_) shutdown(peer, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    for (const int peer : peers_) close(peer);
    close(fd_);
  }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  std::size_t connections() const { return connections_; }

 private:
  void accept_all() {
    while (true) {
      const int peer = accept(fd_, nullptr, nullptr);
      if (peer < 0) return;
      peers_.push_back(peer);
      ++connections_;
      threads_.emplace_back([this, peer] { serve_(peer); });
    }
  }

  std::function<void(int)> serve_;
  int fd_ = -1;
  int port_ = 0;
  std::vector<int> peers_;  // the acceptor's, until it has been joined
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> connections_{0};
  std::thread acceptor_;
};

void say(int fd, std::string_view bytes) {
  [[maybe_unused]] const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

TEST(RedisPeers, EndEveryCallInTimeWhenTheyAreNoRedis) {
  for (const std::string answer : {"", "HTTP/1.1 400 Bad Request\r\n\r\n", "\x15\x03\x01",
                                   "$99999999999\r\n", "+OK\r\n+OK\r\n"}) {
    Peer peer([&](int fd) { say(fd, answer); });
    Runner runner(hasty(peer.url()));
    int known = 0;
    expect_in_time(times(runner, bucket(10), 30, known));
    EXPECT_EQ(known, 0) << answer;
  }
}

constexpr std::int64_t kHourUs = 3'600'000'000;

// Answers as a Redis of old would, and a decision on the key "1:N," as if N tokens had been taken;
// what `alter` returns goes out instead.
class Impostor {
 public:
  using Alter = std::function<std::string(std::string answer)>;
  explicit Impostor(Alter alter) : alter_(std::move(alter)), peer_([this](int fd) { serve(fd); }) {}

  const Peer& peer() const { return peer_; }

 private:
  static std::string answer_to(std::span<const std::string_view> words) {
    if (words[0] == "HELLO") return "-ERR unknown command 'HELLO'\r\n";
    if (words[0] == "CLIENT" || words[0] == "SCRIPT") return "+OK\r\n";
    if (words[0] == "INFO") return "$0\r\n\r\n";
    if (words[0] == "PING") {
      const std::string text(words.size() > 1 ? words[1] : "PONG");
      return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }
    const std::string_view name = words[3];
    const int taken = std::atoi(std::string(name.substr(name.rfind(':') + 1)).c_str());
    return ":" + std::to_string(taken * kHourUs) + "\r\n";
  }
  void serve(int fd) {
    std::string in;
    resp::CommandParser parser;
    char chunk[4096];
    for (ssize_t n; (n = recv(fd, chunk, sizeof chunk, 0)) > 0;) {
      in.append(chunk, static_cast<std::size_t>(n));
      while (parser.parse(in) == resp::Progress::kComplete) {
        std::string answer = answer_to(parser.arguments());
        const bool decision = parser.arguments()[0].starts_with("EVAL");
        in.erase(0, parser.consumed());
        const std::lock_guard lock(mutex_);
        say(fd, decision ? alter_(std::move(answer)) : answer);
      }
    }
  }

  std::mutex mutex_;  // on alter_
  Alter alter_;
  Peer peer_;
};

// Every key's own answer, or none.
void expect_own_answers(Runner& runner) {
  for (const char* key : {"1:1,", "1:2,", "1:3,"}) {
    Charge charge = bucket(10);
    charge.key = key;
    EXPECT_TRUE(support::wait_until([&] {
      const Answer answer = runner.charge(charge, wall_now());
      return answer.known && answer.verdict.remaining == 10u - static_cast<unsigned>(key[2] - '0');
    })) << key;
  }
}

// Spoils one answer, after which the store connects anew and every key gets its own again.
void expect_recovery(std::string_view spoilt) {
  std::atomic<bool> spoil{false};
  Impostor impostor(
      [&](std::string answer) { return spoil.exchange(false) ? std::string(spoilt) : answer; });
  store::RedisOptions options = hasty(impostor.peer().url());
  options.timeout = milliseconds(300);
  Runner runner(options);
  runner.wait_ready();
  expect_own_answers(runner);
  const std::size_t before = impostor.peer().connections();
  spoil = true;
  int known = 0;
  times(runner, bucket(10), 1, known);
  EXPECT_EQ(known, 0);
  EXPECT_TRUE(support::wait_until([&] { return impostor.peer().connections() > before; }));
  expect_own_answers(runner);
}

TEST(RedisPeers, AreConnectedToAnewWhenTheyLeaveAnAnswerOut) {
  expect_recovery("");
}

TEST(RedisPeers, AreConnectedToAnewWhenAnAnswerDoesNotFitItsQuestion) {
  expect_recovery("*1\r\n:1\r\n");
}

TEST(RedisPeers, LeaveNoCallWithoutAnEndWhenTheLoopsStop) {
  Peer silent([](int) {});
  net::Loops loops(2);
  store::RedisOptions options = patient(silent.url());
  auto store = store::RedisStore::make(loops, options);
  ASSERT_TRUE(store.has_value());
  (*store)->start();
  constexpr int kCalls = 20;
  std::vector<Charge> charges(kCalls, bucket(10));
  std::vector<Answer> answers(kCalls);
  std::atomic<int> ended{0};
  const auto ask = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    (*store)->charge({&charges[at], 1}, wall_now(), {&answers[at], 1},
                     [&](store::Admission) { ++ended; });
  };
  for (int i = 0; i < kCalls / 2; ++i) loops.at(i % 2).post([&, i] { ask(i); });
  loops.start();
  ASSERT_TRUE(support::wait_until([&] { return silent.connections() == 2; }));
  loops.stop();
  for (int i = kCalls / 2; i < kCalls; ++i) ask(i);  // these never reach a loop that runs
  EXPECT_EQ(ended, 0);
  (*store)->close();
  EXPECT_EQ(ended, kCalls);
  for (const Answer& answer : answers) EXPECT_FALSE(answer.known);
}

}  // namespace
}  // namespace weir
