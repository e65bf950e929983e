#include "net/connection.h"

#include <gtest/gtest.h>

#include <chrono>

#include "net/listening_socket.h"
#include "net/loop.h"
#include "support/raw_client.h"

namespace weir::net {
namespace {

using testing::RawClient;

// Counts what it is told.
struct Listener final : Connection::Owner {
  void on_input(Connection&) override { ++inputs; }
  void on_output(Connection&) override { ++outputs; }
  int inputs = 0;
  int outputs = 0;
};

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() : listening_(listen_on({"127.0.0.1", 0}, 1).value()), peer_(listening_.port) {
    // The peer has connected, so accept() finds it.
    const int fd = ::accept4(listening_.sockets[0].get(), nullptr, nullptr, SOCK_NONBLOCK);
    connection_ = new Connection(loop_, Transport(FileDescriptor(fd)), kMaxInput);
    connection_->set_owner(&owner_);
  }
  ~ConnectionTest() override {
    if (connection_) connection_->close();
  }

  template <typename Condition>
  bool run_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      loop_.run_ready();
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }

  static constexpr std::size_t kMaxInput = 64 * 1024;
  Loop loop_{0};
  ListeningSockets listening_;
  RawClient peer_;
  Listener owner_;
  ConnectionPtr connection_;
};

TEST_F(ConnectionTest, ReadsWhenAskedAndKeepsWhatIsNotConsumed) {
  peer_.send("hello");
  EXPECT_EQ(connection_->input(), "");
  connection_->read();
  ASSERT_TRUE(run_until([&] { return owner_.inputs == 1; }));
  EXPECT_EQ(connection_->input(), "hello");
  connection_->consume(2);
  EXPECT_EQ(connection_->input(), "llo");
  peer_.send("!");
  connection_->read();
  ASSERT_TRUE(run_until([&] { return owner_.inputs == 2; }));
  EXPECT_EQ(connection_->input(), "llo!");
}

TEST_F(ConnectionTest, StopsReadingAtItsBound) {
  const std::string much(3 * kMaxInput, 'x');
  peer_.send(much);
  ASSERT_TRUE(run_until([&] {
    connection_->read();
    return connection_->input_full();
  }));
  EXPECT_EQ(connection_->input().size(), kMaxInput);
  connection_->read();
  EXPECT_FALSE(connection_->reading());
  connection_->consume(kMaxInput);
  ASSERT_TRUE(run_until([&] {
    connection_->read();
    return connection_->input_full();
  }));
}

TEST_F(ConnectionTest, TellsTheEndOfTheInputFromAFailure) {
  peer_.send("x");
  peer_.finish_sending();
  ASSERT_TRUE(run_until([&] {
    connection_->read();
    return connection_->input_over();
  }));
  EXPECT_TRUE(connection_->input_ended());
  EXPECT_FALSE(connection_->input_failed());
  EXPECT_EQ(connection_->input(), "x");
}

TEST_F(ConnectionTest, AResetIsAFailure) {
  connection_->read();
  peer_.reset();
  ASSERT_TRUE(run_until([&] { return connection_->input_over(); }));
  EXPECT_TRUE(connection_->input_failed());
}

TEST_F(ConnectionTest, WritesAtOnceWhatTheKernelTakes) {
  connection_->output().append("hello");
  connection_->flush();
  EXPECT_EQ(connection_->unsent(), 0u);
  EXPECT_EQ(owner_.outputs, 0) << "nothing is told of what went at once";
  EXPECT_EQ(peer_.read_exactly(5), "hello");
}

TEST_F(ConnectionTest, WritesTheRestWhenThePeerReadsAndThenTheEnd) {
  const std::string much(32 << 20, 'y');
  connection_->output().append(much);
  connection_->flush();
  EXPECT_GT(connection_->unsent(), 0u);
  connection_->output().append("end");
  connection_->end_output();
  std::string got;
  ASSERT_TRUE(run_until([&] {
    char block[1 << 16];
    const ssize_t size = ::recv(peer_.fd(), block, sizeof block, MSG_DONTWAIT);
    if (size > 0) got.append(block, static_cast<std::size_t>(size));
    return size == 0;
  }));
  EXPECT_EQ(got.size(), much.size() + 3);
  EXPECT_EQ(got.substr(much.size()), "end");
  EXPECT_GT(owner_.outputs, 0);
}

TEST_F(ConnectionTest, AWriteToAPeerThatIsGoneFails) {
  peer_.reset();
  ASSERT_TRUE(run_until([&] {
    connection_->output().append("x");
    connection_->flush();
    return connection_->output_failed();
  }));
  EXPECT_EQ(connection_->unsent(), 0u);
}

TEST_F(ConnectionTest, AfterCloseTheOwnerHearsNothingMore) {
  connection_->read();
  connection_->close();
  loop_.run_ready();
  EXPECT_EQ(owner_.inputs, 0);
  EXPECT_TRUE(peer_.at_end());
}

TEST_F(ConnectionTest, OutlivesItsLastReferenceWhileAReadIsUnderWay) {
  connection_->read();
  connection_->close();
  connection_.reset();
  loop_.run_ready();  // under ASan: the read's end touches nothing that is gone
}

TEST_F(ConnectionTest, SeesAPeerThatHasClosedBeforeAnyReadHasToldOfIt) {
  EXPECT_FALSE(connection_->has_unread_event());
  peer_.close();
  EXPECT_TRUE(connection_->has_unread_event());
}

}  // namespace
}  // namespace weir::net
