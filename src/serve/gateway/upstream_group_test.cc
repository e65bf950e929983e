// Several servers behind one gateway: who is asked, and what a reload keeps.

#include <chrono>
#include <optional>

#include "support/gateway_fixture.h"

namespace weir::gateway {
namespace {

// A second server beside the fixture's.
class UpstreamGroupTest : public GatewayTest {
 protected:
  UpstreamGroupTest() {
    auto listening = net::listen_on({"127.0.0.1", 0}, 1);
    other_port_ = listening->port;
    other_ = std::move(listening->sockets[0]);
    make_patient(other_.get());
    policy_.gateway->upstream.servers.push_back(upstream("127.0.0.1", other_port_));
  }

  RawClient accept_other() {
    return RawClient(RawClient::Accepted{::accept4(other_.get(), nullptr, nullptr, SOCK_CLOEXEC)});
  }
  static void answer(RawClient& upstream) {
    upstream.read_until("\r\n\r\n");
    upstream.send(kOk);
  }
  std::string series(const char* name, std::uint16_t port, const char* outcome) {
    return std::string(name) + "{upstream=\"http://127.0.0.1:" + std::to_string(port) +
           "\",outcome=\"" + outcome + "\"}";
  }

  FileDescriptor other_;
  std::uint16_t other_port_ = 0;
};

TEST_F(UpstreamGroupTest, LeastConnectionsPassesOverWhoIsBusy) {
  policy_.gateway->upstream.balance = policy::Balance::kLeastConnections;
  start();
  auto [slow, busy] = begun();
  RawClient one = client();
  one.send(kGet);
  RawClient free = accept_other();
  answer(free);
  EXPECT_EQ(status_of(one.read_response()), 200);
  for (int i = 0; i < 3; ++i) {
    exchange(one, free, kGet, kOk);
    EXPECT_EQ(status_of(one.read_response()), 200);
  }
  busy.send(kOk);
  EXPECT_EQ(status_of(slow.read_response()), 200);
  exchange(one, busy, kGet, kOk);
  EXPECT_EQ(status_of(one.read_response()), 200) << "among equals the turn is its";
}

TEST_F(UpstreamGroupTest, LeastConnectionsCountsAWebSocketWhileItIsOpen) {
  policy_.gateway->upstream.balance = policy::Balance::kLeastConnections;
  start();
  {
    auto [socket, tunnel] =
        begun("GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    tunnel.send(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    EXPECT_EQ(status_of(socket.read_until("\r\n\r\n")), 101);
    RawClient one = client();
    one.send(kGet);
    RawClient free = accept_other();
    answer(free);
    EXPECT_EQ(status_of(one.read_response()), 200);
    exchange(one, free, kGet, kOk);
    EXPECT_EQ(status_of(one.read_response()), 200);
    socket.close();
    EXPECT_EQ(tunnel.read_all(), "");
  }
}

TEST_F(UpstreamGroupTest, AServerThatGivesNoAnswersIsLeftOut) {
  policy_.gateway->upstream.eject.failures = 2;
  policy_.gateway->upstream.eject.base_time = std::chrono::hours(1);
  start();
  RawClient one = client();
  std::optional<RawClient> other;
  for (int i = 0; i < 2; ++i) {
    one.send(kGet);
    {
      RawClient upstream = accept();
      upstream.read_until("\r\n\r\n");
    }
    EXPECT_EQ(status_of(one.read_response()), 502);
    one.send(kGet);
    if (i == 0) {
      other.emplace(RawClient::Accepted{::accept4(other_.get(), nullptr, nullptr, SOCK_CLOEXEC)});
    }
    answer(*other);
    EXPECT_EQ(status_of(one.read_response()), 200);
  }
  for (int i = 0; i < 4; ++i) {
    exchange(one, *other, kGet, kOk);
    EXPECT_EQ(status_of(one.read_response()), 200);
  }
  EXPECT_EQ(metric(series("weir_upstream_requests_total", upstream_port_, "failed")), 2u);
  EXPECT_EQ(metric(series("weir_upstream_requests_total", other_port_, "answered")), 6u);
}

TEST_F(UpstreamGroupTest, TheOnlyServerIsNeverLeftOut) {
  policy_.gateway->upstream.servers.pop_back();
  policy_.gateway->upstream.eject.failures = 1;
  start();
  RawClient one = client();
  for (int i = 0; i < 3; ++i) {
    one.send(kGet);
    RawClient upstream = accept();
    upstream.read_until("\r\n\r\n");
    upstream.close();
    EXPECT_EQ(status_of(one.read_response()), 502);
  }
  one.send(kGet);
  RawClient upstream = accept();
  answer(upstream);
  EXPECT_EQ(status_of(one.read_response()), 200);
}

TEST_F(UpstreamGroupTest, AReloadKeepsTheConnectionsOfWhoStays) {
  start();
  RawClient one = client();
  one.send(kGet);
  RawClient first = accept();
  answer(first);
  EXPECT_EQ(status_of(one.read_response()), 200);
  policy_.gateway->upstream.servers.pop_back();
  policy_.gateway->upstream.eject.failures = 9;
  ASSERT_TRUE(engine_.install(policy_));
  for (int i = 0; i < 2; ++i) {
    exchange(one, first, kGet, kOk);
    EXPECT_EQ(status_of(one.read_response()), 200);
  }
  EXPECT_TRUE(nobody_connects());
}

}  // namespace
}  // namespace weir::gateway
