// What a request holds until its response has ended, and what its response corrects.

#include <chrono>

#include "net/steady_time.h"
#include "support/gateway_fixture.h"

namespace weir::gateway {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class AccountTest : public GatewayTest {
 protected:
  policy::Limit& limit_of(const std::string& name, Numbers numbers) {
    policy::Limit& limit = policy_.limits.emplace_back();
    limit.name = name;
    limit.numbers = {std::move(numbers)};
    return limit;
  }
  // Calls at once, of everybody together.
  void limit_flight(std::uint64_t most, Duration timeout = hours(1)) {
    limit_of("flight", Concurrency{most, timeout});
  }

  int ask() {
    RawClient other = client();
    other.send("GET /other HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    return status_of(other.read_until("\r\n"));
  }
  // Whether another request is admitted: it then waits for the upstream, and its client goes.
  bool has_room() {
    RawClient other = client();
    other.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
    pollfd ready[2] = {{other.fd(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    ::poll(ready, 2, 5000);
    if (ready[1].revents == 0) return false;
    accept();
    return true;
  }
  // The same, waited for: the gateway learns of ends in its own time.
  bool gets_room() {
    const std::int64_t deadline = net::steady_ns() + Duration(seconds(10)).count();
    while (net::steady_ns() < deadline) {
      if (has_room()) return true;
    }
    return false;
  }
};

TEST_F(AccountTest, ACallInFlightHoldsItsPlaceUntilItsResponseHasEnded) {
  limit_flight(1);
  start();
  auto [one, upstream] = begun();
  RawClient two = client();
  two.send(kGet);
  const std::string refused = two.read_response();
  EXPECT_EQ(status_of(refused), 429);
  EXPECT_FALSE(contains(refused, "Retry-After"));
  EXPECT_TRUE(contains(refused, "too many requests at once"));
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
  EXPECT_EQ(status_of(one.read_until("\r\n\r\no")), 200);
  two.send(kGet);
  EXPECT_EQ(status_of(two.read_response()), 429);  // the response has begun, and not ended
  upstream.send("k");
  EXPECT_EQ(one.read_exactly(1), "k");
  two.send(kGet);
  upstream.read_until("\r\n\r\n");  // on the connection that was kept
  upstream.send(kOk);
  EXPECT_EQ(status_of(two.read_response()), 200);
}

TEST_F(AccountTest, TheNextRequestOfAPipelineFindsThePlaceFree) {
  limit_flight(1);
  start();
  RawClient one = client();
  one.send(kGet + kGet);
  RawClient upstream = accept();
  for (int i = 0; i < 2; ++i) {
    upstream.read_until("\r\n\r\n");
    upstream.send(kOk);
    EXPECT_EQ(status_of(one.read_response()), 200);
  }
}

TEST_F(AccountTest, AClientThatGoesFreesItsPlace) {
  limit_flight(1);
  start();
  auto [one, upstream] = begun();
  EXPECT_EQ(ask(), 429);
  one.reset();
  EXPECT_TRUE(gets_room());
}

TEST_F(AccountTest, AnUpstreamThatClosesOrIsNotThereFreesThePlace) {
  limit_flight(1);
  start();
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  accept().read_until("\r\n\r\n");  // and closes
  EXPECT_EQ(status_of(one.read_response()), 502);
  EXPECT_TRUE(has_room());
  stop_upstream();
  EXPECT_EQ(ask(), 502);
  EXPECT_EQ(ask(), 502);
}

TEST_F(AccountTest, AResponseThatIsCutShortFreesThePlace) {
  limit_flight(1);
  start();
  RawClient one = client();
  one.send(kGet);
  {
    RawClient upstream = accept();
    upstream.read_until("\r\n\r\n");
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok");
  }
  EXPECT_EQ(status_of(one.read_all()), 200);
  EXPECT_TRUE(gets_room());
}

TEST_F(AccountTest, ATunnelHoldsItsPlaceUntilItEnds) {
  limit_flight(1);
  start();
  auto [one, upstream] =
      begun("GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  upstream.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
      "Upgrade: websocket\r\n\r\n");
  EXPECT_EQ(status_of(one.read_until("\r\n\r\n")), 101);
  EXPECT_EQ(ask(), 429);
  one.close();
  upstream.close();
  EXPECT_TRUE(gets_room());
}

TEST_F(AccountTest, ADelayThatIsGivenUpFreesThePlace) {
  limit_flight(2);
  limit_of("slow", LeakyBucket{{1, hours(1)}, 5});
  start();
  RawClient first = client();
  first.send(kGet);
  RawClient upstream = accept();  // keeps its place, and the slot that is now
  RawClient held = client();
  held.send(kGet);
  // The one that waits for the next slot has the other place: a third finds none.
  const std::int64_t deadline = net::steady_ns() + Duration(seconds(10)).count();
  bool full = false;
  while (!full && net::steady_ns() < deadline) {
    RawClient third = client();
    third.send(kGet);
    pollfd ready{third.fd(), POLLIN, 0};
    full = ::poll(&ready, 1, 200) == 1 && status_of(third.read_response()) == 429;
  }
  EXPECT_TRUE(full);
  held.close();
  // Its place is free: a request is held again, and not refused.
  bool waits = false;
  while (!waits && net::steady_ns() < deadline) {
    RawClient third = client();
    third.send(kGet);
    pollfd ready{third.fd(), POLLIN, 0};
    waits = ::poll(&ready, 1, 200) == 0;
  }
  EXPECT_TRUE(waits);
}

TEST_F(AccountTest, AResponseThatTakesLongerThanTheTimeoutKeepsItsPlace) {
  limit_flight(1, seconds(2));
  start();
  auto [one, upstream] = begun();
  const std::int64_t end = net::steady_ns() + Duration(milliseconds(4500)).count();
  while (net::steady_ns() < end) ASSERT_EQ(ask(), 429);
  upstream.send(kOk);
  EXPECT_EQ(status_of(one.read_response()), 200);
}

TEST_F(AccountTest, CountsTheAnswersAloneThatGiveNothingBack) {
  limit_of("failed", TokenBucket{{1, hours(1)}, 2}).refund_when = {"2xx", "404"};
  start();
  RawClient one = client();
  one.send(kGet);
  RawClient upstream = accept();
  const auto answer = [&](const std::string& status) {
    upstream.read_until("\r\n\r\n");
    upstream.send("HTTP/1.1 " + status + " X\r\nContent-Length: 0\r\n\r\n");
    const std::string got = one.read_response();
    one.send(kGet);
    return status_of(got);
  };
  for (const char* status : {"200", "204", "404", "200", "401", "200", "403"}) {
    EXPECT_EQ(answer(status), std::stoi(status));
  }
  EXPECT_EQ(status_of(one.read_response()), 429);
}

TEST_F(AccountTest, TheUpstreamSaysWhatACallCost) {
  limit_of("tokens", TokenBucket{{1, hours(1)}, 100}).settle = "x-usage";
  start();
  RawClient one = client();
  RawClient* upstream = nullptr;
  const auto left_after = [&](const std::string& headers) {
    upstream->read_until("\r\n\r\n");
    upstream->send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + headers + "\r\n");
    const std::string got = one.read_response();
    one.send(kGet);
    const auto at = got.find("X-RateLimit-Remaining: ");
    return at == std::string::npos ? -1 : std::stoi(got.substr(at + 23));
  };
  one.send(kGet);
  RawClient connection = accept();
  upstream = &connection;
  // Each answer shows what was left when its request was decided, at a cost of 1.
  EXPECT_EQ(left_after("X-Usage: 31\r\n"), 99);
  EXPECT_EQ(left_after("X-Usage: 9.5\r\n"), 68);
  EXPECT_EQ(left_after("X-Usage: 0\r\n"), 58);
  EXPECT_EQ(left_after("X-Usage: a lot\r\n"), 58);  // understood by nobody: it cost 1
  EXPECT_EQ(left_after("X-Usage: 5\r\nX-Usage: 6\r\n"), 57);
  EXPECT_EQ(left_after("X-Usage: -4\r\n"), 56);
  EXPECT_EQ(left_after(""), 55);
  EXPECT_EQ(left_after("X-Usage: 60\r\n"), 54);
  EXPECT_EQ(status_of(one.read_response()), 429);  // five are owed
}

TEST_F(AccountTest, AFaultOfTheUpstreamsIsNoAnswerOfIts) {
  limit_of("failed", TokenBucket{{1, hours(1)}, 1}).refund_when = {"5xx"};
  start();
  stop_upstream();
  EXPECT_EQ(ask(), 502);
  EXPECT_EQ(ask(), 429);
}

TEST_F(AccountTest, CallsDecidedForAClientThatHasGoneLeaveNoPlaceTaken) {
  limit_flight(1);
  start();
  for (int i = 0; i < 20; ++i) {
    RawClient gone = client();
    gone.send(kGet);
    gone.reset();
  }
  EXPECT_TRUE(gets_room());
}

}  // namespace
}  // namespace weir::gateway
