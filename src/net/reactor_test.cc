#include "net/reactor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "net/loop.h"
#include "net/stream.h"

namespace weir::net {
namespace {

struct Owner final : Stream::Owner {
  void on_readable() override {
    ++readable;
    if (then) then();
  }
  void on_writable() override {}
  int readable = 0;
  std::function<void()> then;
};

// A watched stream, and the socket that is its peer's.
class Watched {
 public:
  explicit Watched(Loop& loop) {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    EXPECT_EQ(::fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
    peer_ = FileDescriptor(pair[1]);
    stream = new Stream(loop, Transport(FileDescriptor(pair[0])));
    stream->set_owner(&owner);
    stream->wait_to_read();
  }
  ~Watched() {
    if (stream != nullptr) stream->close();
  }

  void say(std::string_view text) {
    EXPECT_EQ(::write(peer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  Owner owner;
  StreamPtr stream;

 private:
  FileDescriptor peer_;
};

TEST(Reactor, TimersRunBesideSocketsThatAreWatched) {
  Loop loop(0);
  Watched watched(loop);
  bool fired = false;
  SteadyTimer timer(loop.executor(), std::chrono::milliseconds(1));
  timer.async_wait([&](const SystemError& error) { fired = !error; });
  loop.run_until([&] { return fired; });
  EXPECT_EQ(watched.owner.readable, 0);
  watched.say("x");
  loop.run_until([&] { return watched.owner.readable == 1; });
}

TEST(Reactor, PostsOfAnotherThreadWakeALoopThatWaitsForSockets) {
  Loops loops(1);
  Loop& loop = loops.at(0);
  Watched watched(loop);
  std::promise<void> read;
  watched.owner.then = [&] { read.set_value(); };
  loops.start();
  for (int i = 0; i < 100; ++i) {
    std::promise<void> ran;
    loop.post([&] { ran.set_value(); });
    ASSERT_EQ(ran.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  watched.say("x");
  EXPECT_EQ(read.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  loops.stop();
}

TEST(Reactor, WhatAHandlerClosesHearsNothingOfAnEventAtHand) {
  Loop loop(0);
  Watched closed(loop);
  Watched other(loop);
  closed.say("x");
  other.say("x");
  // Ready before the loop has looked, so that it runs between the wait and what the wait tells.
  loop.post([&] { closed.stream->close(); });
  loop.run_until([&] { return other.owner.readable == 1; });
  EXPECT_EQ(closed.owner.readable, 0);
}

// A turn that was posted for it comes between the wait and what the wait tells.
TEST(Reactor, OneThatIsWokenMayLetGoOfAnotherWhoseEventIsAtHand) {
  Loop loop(0);
  Watched woken(loop);
  Watched closed(loop);
  woken.say("x");
  loop.run_until([&] { return woken.owner.readable == 1; });
  woken.owner.then = [&] {
    closed.stream->close();
    closed.stream.reset();
  };
  loop.post([&] {
    closed.say("x");
    woken.stream->wait_to_read();
  });
  loop.run_until([&] { return woken.owner.readable == 2; });
  loop.run_ready();
  EXPECT_EQ(closed.owner.readable, 0);
}

TEST(Reactor, OneOfTwoThatAreReadyMayCloseTheOther) {
  Loop loop(0);
  Watched first(loop);
  Watched second(loop);
  first.owner.then = [&] { second.stream->close(); };
  second.owner.then = [&] { first.stream->close(); };
  first.say("x");
  second.say("x");
  loop.run_until([&] { return first.owner.readable + second.owner.readable > 0; });
  loop.run_ready();
  EXPECT_EQ(first.owner.readable + second.owner.readable, 1);
}

TEST(Reactor, ALoopWithoutSocketsWaitsForTheRest) {
  Loop loop(0);
  bool fired = false;
  SteadyTimer timer(loop.executor(), std::chrono::milliseconds(1));
  timer.async_wait([&](const SystemError& error) { fired = !error; });
  loop.run_until([&] { return fired; });
  {
    Watched watched(loop);
    watched.say("x");
    loop.run_until([&] { return watched.owner.readable == 1; });
  }
  fired = false;
  timer.expires_after(std::chrono::milliseconds(1));
  timer.async_wait([&](const SystemError& error) { fired = !error; });
  loop.run_until([&] { return fired; });
}

// Streams that speak, wait and close one another, from what they hear, from posts, and from
// outside.
class Crowd {
 public:
  explicit Crowd(std::uint32_t seed) : random_(seed) {
    for (int i = 0; i < 12; ++i) enter();
  }

  void turn() {
    for (int i = 0; i < 4; ++i) act();
    loop_.run_ready();
  }
  int told() const { return told_; }
  int closed() const { return closed_; }

 private:
  void enter() {
    auto& watched = *all_.emplace_back(std::make_unique<Watched>(loop_));
    watched.owner.then = [this, &watched] {
      ++told_;
      EXPECT_NE(watched.stream, nullptr) << "it was closed, and hears something";
      if (random_() % 2 == 0) drain(watched);
      if (watched.stream != nullptr) watched.stream->wait_to_read();
      act();
    };
  }

  void drain(Watched& watched) {
    std::array<char, 64> bytes;
    while (watched.stream->readable()) watched.stream->read(bytes.data(), bytes.size());
  }

  void act() {
    Watched& watched = *all_[random_() % all_.size()];
    switch (random_() % 4) {
      case 0:
        loop_.post([this] { act(); });
        break;
      case 1:
        if (all_.size() < 600 && random_() % 2 == 0) close(watched);
        break;
      default:
        if (watched.stream != nullptr) watched.say("x");
        break;
    }
  }

  void close(Watched& watched) {
    if (watched.stream == nullptr) return;
    ++closed_;
    watched.stream->close();
    watched.stream.reset();
    enter();
  }

  std::mt19937 random_;
  Loop loop_{0};
  std::vector<std::unique_ptr<Watched>> all_;
  int told_ = 0;
  int closed_ = 0;
};

TEST(Reactor, WhoeverClosesWhomFromWhereverNobodyHearsAnythingAfterIt) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Crowd crowd(seed);
  for (int i = 0; i < 4000; ++i) crowd.turn();
  EXPECT_GT(crowd.told(), 500);
  EXPECT_GT(crowd.closed(), 100);
}

}  // namespace
}  // namespace weir::net
