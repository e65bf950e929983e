// Handshakes whose messages are limited, read a second time.

#include <atomic>

#include "support/websocket_fixture.h"

namespace weir::gateway {
namespace {

using WatchedHandshake = WebSocketTest;

TEST_F(WatchedHandshake, WithTwoRequestIdsHasTheOneThatItWasGiven) {
  limit_queries(1).key = engine::key({"user"});
  policy_.identity.user = {policy::AttributeSource::Kind::kHeader, "x-request-id"};
  policy_.identity.trust_clients = true;
  start();
  RawClient one = client();
  one.send(handshake("X-Request-Id: one\r\nX-Request-Id: two\r\n"));
  RawClient upstream = accept();
  open(one, upstream);
  one.send(query(1) + query(2));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  EXPECT_EQ(at_client(one), refused(2));
}

// Puts a policy in force as soon as a request has been read.
class ReloadingClock final : public Clock {
 public:
  explicit ReloadingClock(std::function<void()> reload) : reload_(std::move(reload)) {}
  Instant now() const override {
    if (armed_.exchange(false)) reload_();
    return clock_.now();
  }
  void arm() { armed_ = true; }

 private:
  SystemClock clock_;
  std::function<void()> reload_;
  mutable std::atomic<bool> armed_ = false;
};

TEST_F(WatchedHandshake, ThatANewPolicyCannotReadIsRefused) {
  limit_queries(1);
  ReloadingClock clock([this] {
    policy_.paths.keep_encoded_slash = false;
    ASSERT_TRUE(engine_.install(policy_));
  });
  ASSERT_TRUE(engine_.install(policy_));
  auto opened = Gateway::open(loops_, listen_options(), engine_, clock, registry_, board_);
  ASSERT_TRUE(opened);
  gateway_ = std::move(*opened);
  gateway_->start();
  loops_.start();
  RawClient one = client();
  clock.arm();
  std::string request = handshake();
  request.replace(request.find("/ws"), 3, "/a%2Fb");
  one.send(request);
  const std::string answer = one.read_response();
  EXPECT_EQ(status_of(answer), 400) << answer;
  EXPECT_TRUE(nobody_connects());
  one.send(kGet);
  accept().read_until("\r\n\r\n");
  loops_.stop();  // before the clock goes
}

}  // namespace
}  // namespace weir::gateway
