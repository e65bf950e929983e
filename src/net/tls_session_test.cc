#include "net/tls_session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "net/tls_client.h"
#include "net/tls_server.h"
#include "net/transport.h"
#include "support/temporary_folder.h"

namespace weir::net {
namespace {

using Status = Io::Status;

// Both ends in one thread, over a pair of sockets; the certificate is made by openssl.
class TlsSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string make =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout " +
        path("key") + " -out " + path("cert") + " 2>/dev/null";
    ASSERT_EQ(system(make.c_str()), 0);
    auto server = TlsServer::make({{{path("cert"), path("key")}}, ""}, "h2");
    ASSERT_TRUE(server) << server.error().message;
    server_tls_ = std::move(*server);
    auto client = TlsClient::make({path("cert"), "", "", ""}, "h2");
    ASSERT_TRUE(client) << client.error().message;
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()), 0);
    server_ = Transport(FileDescriptor(pair[0]));
    client_ = Transport(FileDescriptor(pair[1]));
    server_.speak(server_tls_->accept(pair[0]));
    client_.speak((*client)->connect(pair[1], "localhost"));
    for (int i = 0; i < 4; ++i) {
      client_.tls().handshake();
      done_ = server_.tls().handshake().status == Status::kMoved;
      if (done_) break;
    }
  }
  std::string path(const char* name) const { return folder_ / name; }

  static std::string read_all(Transport& from, Io& last) {
    std::string all;
    std::array<char, 4096> block;
    while ((last = from.read(block.data(), block.size())).status == Status::kMoved) {
      all.append(block.data(), last.bytes);
    }
    return all;
  }

  support::TemporaryFolder folder_;
  std::unique_ptr<TlsServer> server_tls_;
  Transport server_;
  Transport client_;
  bool done_ = false;
};

TEST_F(TlsSessionTest, AWriteOfLessThanAllMeansThatTheSocketIsFull) {
  ASSERT_TRUE(done_);
  const std::string much(4 << 20, 'x');
  std::size_t sent = 0;
  std::size_t got = 0;
  Io last;
  while (sent < much.size()) {
    const Io put = server_.write(much.data() + sent, much.size() - sent);
    ASSERT_NE(put.status, Status::kFailed);
    sent += put.bytes;
    if (sent == much.size()) break;
    EXPECT_EQ(server_.write(much.data() + sent, much.size() - sent).status, Status::kWouldBlock);
    got += read_all(client_, last).size();
  }
  got += read_all(client_, last).size();
  EXPECT_EQ(got, much.size());
  EXPECT_EQ(last.status, Status::kWouldBlock);
}

TEST_F(TlsSessionTest, TellsWhetherAReadTookAllThatHadCome) {
  ASSERT_TRUE(done_);
  std::array<char, 16> block;
  const auto took_all = [&](std::size_t room) {
    const Io got = server_.read(block.data(), room);
    EXPECT_EQ(got.status, Status::kMoved);
    return server_.took_all(got, room);
  };
  client_.write("hello", 5);
  EXPECT_TRUE(took_all(block.size()));
  client_.write("hello", 5);
  EXPECT_FALSE(took_all(3)) << "two bytes of the record are left";
  EXPECT_TRUE(took_all(2));
  client_.write("two", 3);
  client_.write("records", 7);
  EXPECT_FALSE(took_all(block.size())) << "one of them has been read from the socket, not from us";
  EXPECT_TRUE(took_all(block.size()));
  EXPECT_TRUE(server_.took_all(server_.read(block.data(), block.size()), block.size()));
}

TEST_F(TlsSessionTest, WhatIsReadAheadSaysNothingOfWhatHasComeSince) {
  ASSERT_TRUE(done_);
  std::array<char, 16> block;
  const auto took_all = [&] {
    const Io got = server_.read(block.data(), block.size());
    return server_.took_all(got, block.size());
  };
  client_.write("two", 3);
  client_.write("records", 7);
  EXPECT_FALSE(took_all());
  client_.write("a third", 7);
  server_.tls().note_event();
  EXPECT_FALSE(took_all()) << "the second was read from memory";
  EXPECT_TRUE(took_all());
}

TEST_F(TlsSessionTest, TheEndThatIsSaidIsToldFromOneThatIsNot) {
  ASSERT_TRUE(done_);
  Io last;
  EXPECT_TRUE(server_.end_output());
  read_all(client_, last);
  EXPECT_EQ(last.status, Status::kEnded);
  EXPECT_EQ(client_.write("x", 1).status, Status::kMoved) << "the other way is open";
  EXPECT_EQ(read_all(server_, last), "x");
}

TEST_F(TlsSessionTest, AServerThatSaysNoEndHasFailed) {
  ASSERT_TRUE(done_);
  Io last;
  server_.reset();
  read_all(client_, last);
  EXPECT_EQ(last.status, Status::kFailed);
}

TEST_F(TlsSessionTest, AClientThatSaysNoEndHasEndedAllTheSame) {
  ASSERT_TRUE(done_);
  Io last;
  read_all(client_, last);  // the ticket: a close with bytes unread would be a reset
  client_.reset();
  read_all(server_, last);
  EXPECT_EQ(last.status, Status::kEnded);
}

TEST_F(TlsSessionTest, FilesThatCannotBeUsedAreNamedAndWhatWasInForceStays) {
  const auto none = server_tls_->prepare({{{path("none"), path("key")}}, ""});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("cannot use " + path("none")), std::string::npos);
  const auto swapped = server_tls_->prepare({{{path("key"), path("key")}}, ""});
  EXPECT_FALSE(swapped);
  EXPECT_NE(server_tls_->accept(server_.fd()), nullptr);
}

}  // namespace
}  // namespace weir::net
