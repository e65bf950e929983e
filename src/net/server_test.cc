#include "net/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <semaphore>
#include <thread>

#include "base/log.h"
#include "net/stream.h"

namespace weir::net {
namespace {

using std::chrono::seconds;

// Sends back what it gets until the peer closes; ends at once when drained.
class EchoSession final : public Session, private Stream::Owner {
 public:
  EchoSession(Loop& loop, SessionSet& sessions, Transport transport)
      : loop_(loop), sessions_(sessions), stream_(new Stream(loop, std::move(transport))) {
    sessions_.add(*this);
    stream_->set_owner(this);
    stream_->wait_to_read();
  }

  void drain() override { end(); }
  void abort() override { end(); }

 private:
  void on_readable() override {
    const Io got = stream_->read(buffer_.data(), buffer_.size());
    if (got.status == Io::Status::kEnded || got.status == Io::Status::kFailed) return end();
    stream_->write(buffer_.data(), got.bytes);
    stream_->wait_to_read();
  }
  void on_writable() override {}

  void end() {
    if (ended_) return;
    ended_ = true;
    stream_->close();
    sessions_.remove(*this);
    loop_.post([self = std::unique_ptr<EchoSession>(this)] {});
  }

  Loop& loop_;
  SessionSet& sessions_;
  StreamPtr stream_;
  std::array<char, 256> buffer_;
  bool ended_ = false;
};

FileDescriptor connect_to(std::uint16_t port) {
  FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  return fd;
}

std::string echo(const FileDescriptor& fd, const std::string& text) {
  if (send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return "";
  char buffer[256];
  const ssize_t n = recv(fd.get(), buffer, sizeof buffer, 0);
  return std::string(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
}

class ServerTest : public testing::Test {
 protected:
  std::unique_ptr<Server> serve(std::size_t max_connections = 0) {
    ListenOptions options = options_on({"127.0.0.1", 0});
    options.max_connections = max_connections;
    Result<std::unique_ptr<Server>> server =
        Server::open(loops_, options,
                     [](Loop& loop, SessionSet& sessions, Transport transport, const IpAddress&) {
                       new EchoSession(loop, sessions, std::move(transport));  // owns itself
                     });
    if (!server) return nullptr;
    (*server)->start();
    loops_.start();
    return std::move(*server);
  }

  static ListenOptions options_on(ListenAddress address) {
    ListenOptions options;
    options.name = "test";
    options.listen = std::move(address);
    return options;
  }

  Loops loops_{2};
};

TEST_F(ServerTest, ServesConnectionsOnEveryLoop) {
  auto server = serve();
  ASSERT_TRUE(server);
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(connect_to(server->port()));
    EXPECT_EQ(echo(clients.back(), "hello"), "hello");
  }
  EXPECT_EQ(server->connections(), 20u);
  loops_.stop();
}

TEST_F(ServerTest, APortInUseIsAnErrorThatNamesIt) {
  auto server = serve();
  ASSERT_TRUE(server);
  Loops others(2);
  auto second = Server::open(others, options_on({"127.0.0.1", server->port()}), nullptr);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(server->port()) +
                ": Address already in use; another program listens there: stop it or choose "
                "another port");
  loops_.stop();
}

TEST_F(ServerTest, AnAddressThatIsNoneIsAnErrorThatNamesIt) {
  auto server = Server::open(loops_, options_on({"300.1.1.1", 80}), nullptr);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::kInvalid);
  EXPECT_NE(server.error().message.find("300.1.1.1:80"), std::string::npos);
}

TEST_F(ServerTest, ListensOnBothFamiliesByTheAnyAddressOfIpv6) {
  auto server = Server::open(loops_, options_on({"::", 0}), nullptr);
  if (!server) GTEST_SKIP() << "no IPv6 here: " << server.error().message;
  EXPECT_EQ((*server)->address(), "[::]:" + std::to_string((*server)->port()));
  EXPECT_GE(connect_to((*server)->port()).get(), 0);
}

TEST_F(ServerTest, DrainStopsAcceptingAndTellsWhenTheLastSessionHasEnded) {
  auto server = serve();
  ASSERT_TRUE(server);
  const FileDescriptor client = connect_to(server->port());
  EXPECT_EQ(echo(client, "x"), "x");
  std::promise<void> done;
  server->drain(seconds(10), [&] { done.set_value(); });
  ASSERT_EQ(done.get_future().wait_for(seconds(5)), std::future_status::ready);
  EXPECT_EQ(server->connections(), 0u);
  EXPECT_EQ(echo(client, "x"), "") << "the session has ended";
  EXPECT_LT(connect_to(server->port()).get(), 0) << "nobody listens any more";
  loops_.stop();
}

TEST_F(ServerTest, AtMaxConnectionsANewcomerWaitsUntilOneEnds) {
  auto server = serve(2);  // one a loop
  ASSERT_TRUE(server);
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 16; ++i) clients.push_back(connect_to(server->port()));
  for (const FileDescriptor& client : clients) send(client.get(), "x", 1, MSG_NOSIGNAL);
  std::size_t served = 0;
  while (!clients.empty()) {
    for (auto it = clients.begin(); it != clients.end();) {
      char byte;
      const bool answered = recv(it->get(), &byte, 1, MSG_DONTWAIT) == 1;
      served += answered;
      it = answered ? clients.erase(it) : it + 1;
    }
    ASSERT_LE(server->connections(), 2u);
    std::this_thread::yield();
  }
  EXPECT_EQ(served, 16u) << "each was served in its turn";
  loops_.stop();
}

TEST_F(ServerTest, OutOfFileDescriptorsItWaitsAndThenGoesOn) {
  auto server = serve();
  ASSERT_TRUE(server);
  EXPECT_EQ(echo(connect_to(server->port()), "x"), "x");
  const FileDescriptor client = connect_to(server->port());
  EXPECT_EQ(echo(client, "x"), "x");
  FileDescriptor late(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);

  std::binary_semaphore told(0);
  log::watch([&](log::Level level, std::string_view) {
    if (level == log::Level::kError) told.release();  // once, until it has let somebody in
  });
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{3, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  connect(late.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  send(late.get(), "x", 1, MSG_NOSIGNAL);
  const bool tried = told.try_acquire_for(seconds(20));
  EXPECT_EQ(echo(client, "y"), "y") << "those that are in are served on";
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(tried) << "it says that it cannot accept";
  char byte = 0;
  EXPECT_EQ(recv(late.get(), &byte, 1, 0), 1) << "and the one that waited is let in";
  loops_.stop();
  log::watch(nullptr);
}

TEST_F(ServerTest, DestroyingAServerEndsTheSessionsThatAreLeft) {
  auto server = serve();
  ASSERT_TRUE(server);
  const FileDescriptor client = connect_to(server->port());
  EXPECT_EQ(echo(client, "x"), "x");
  loops_.stop();
  server.reset();
  EXPECT_EQ(echo(client, "x"), "");
}

}  // namespace
}  // namespace weir::net
