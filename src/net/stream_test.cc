#include "net/stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>

#include "support/raw_client.h"

namespace weir::net {
namespace {

using testing::RawClient;
using Status = Io::Status;

struct Counter final : Stream::Owner {
  void on_readable() override { ++readable; }
  void on_writable() override { ++writable; }
  int readable = 0;
  int writable = 0;
};

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() : pair_(make_pair()), peer_(RawClient::Accepted{pair_[1]}) {
    stream_ = new Stream(loop_, Transport(FileDescriptor(pair_[0])));
    stream_->set_owner(&owner_);
  }
  ~StreamTest() override { stream_->close(); }

  static std::array<int, 2> make_pair() {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    EXPECT_EQ(::fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
    return pair;
  }

  template <typename Condition>
  bool run_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!condition()) {
      loop_.run_ready();
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }

  std::string read() {
    std::array<char, 256> bytes;
    const Io got = stream_->read(bytes.data(), bytes.size());
    return {bytes.data(), got.bytes};
  }

  Loop loop_{0};
  std::array<int, 2> pair_;
  RawClient peer_;
  Counter owner_;
  StreamPtr stream_;
};

TEST_F(StreamTest, TellsOnceForEachWait) {
  peer_.send("hello");
  loop_.run_ready();
  EXPECT_EQ(owner_.readable, 0) << "nobody waits";
  stream_->wait_to_read();
  stream_->wait_to_read();
  EXPECT_EQ(owner_.readable, 0) << "not before it returns";
  ASSERT_TRUE(run_until([&] { return owner_.readable == 1; }));
  EXPECT_EQ(read(), "hello");
  peer_.send("more");
  loop_.run_ready();
  EXPECT_EQ(owner_.readable, 1);
  stream_->wait_to_read();
  ASSERT_TRUE(run_until([&] { return owner_.readable == 2; }));
  EXPECT_EQ(read(), "more");
}

TEST_F(StreamTest, AShortReadHasTakenAllAndTheNextBytesAreTold) {
  peer_.send("x");
  stream_->wait_to_read();
  ASSERT_TRUE(run_until([&] { return owner_.readable == 1; }));
  EXPECT_TRUE(stream_->readable());
  EXPECT_EQ(read(), "x");
  EXPECT_FALSE(stream_->readable());
  stream_->wait_to_read();
  loop_.run_ready();
  EXPECT_EQ(owner_.readable, 1);
  peer_.send("y");
  ASSERT_TRUE(run_until([&] { return owner_.readable == 2; }));
}

TEST_F(StreamTest, TheEndBehindTheLastBytesIsNotMissed) {
  peer_.send("x");
  peer_.close();
  stream_->wait_to_read();
  ASSERT_TRUE(run_until([&] { return owner_.readable == 1; }));
  EXPECT_EQ(read(), "x");
  EXPECT_TRUE(stream_->readable());
  char byte;
  EXPECT_EQ(stream_->read(&byte, 1).status, Status::kEnded);
}

TEST_F(StreamTest, WritesUntilThePeerIsFullAndTellsWhenItHasRead) {
  const std::string block(64 * 1024, 'x');
  std::size_t sent = 0;
  Io put;
  while ((put = stream_->write(block.data(), block.size())).status == Status::kMoved) {
    sent += put.bytes;
  }
  EXPECT_EQ(put.status, Status::kWouldBlock);
  stream_->wait_to_write();
  loop_.run_ready();
  EXPECT_EQ(owner_.writable, 0);
  EXPECT_EQ(peer_.read_exactly(sent).size(), sent);
  ASSERT_TRUE(run_until([&] { return owner_.writable == 1; }));
}

TEST_F(StreamTest, AWriteToAPeerThatIsGoneFails) {
  peer_.close();
  EXPECT_EQ(stream_->write("x", 1).status, Status::kFailed);
}

TEST_F(StreamTest, DropsWhatComesUpToItsBound) {
  peer_.send("some");
  stream_->wait_to_read();
  ASSERT_TRUE(run_until([&] { return owner_.readable == 1; }));
  EXPECT_TRUE(stream_->discard());
  bool more = true;
  const std::string block(32 * 1024, 'x');
  for (int i = 0; i < 64 && more; ++i) {
    peer_.send(block);
    ASSERT_TRUE(run_until([&] { return stream_->readable(); }));
    more = stream_->discard();
  }
  EXPECT_FALSE(more) << "more than a mebibyte was read away";
}

TEST_F(StreamTest, AfterCloseTheOwnerHearsNothingMore) {
  peer_.send("x");
  stream_->wait_to_read();
  stream_->close();
  loop_.run_ready();
  EXPECT_EQ(owner_.readable, 0);
  EXPECT_TRUE(peer_.at_end());
}

}  // namespace
}  // namespace weir::net
