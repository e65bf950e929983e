#include "net/reactor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <string_view>

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

}  // namespace
}  // namespace weir::net
