// Peers that end one direction of a connection and not the other.

#include "support/gateway_fixture.h"
#include "support/late_store.h"

namespace weir::gateway {
namespace {

class HalfClose : public GatewayTest {};

TEST_F(HalfClose, AClientThatEndsItsSideWhileItWaitsIsTakenToBeGone) {
  start();
  auto [one, upstream] = begun();
  one.finish_sending();
  EXPECT_TRUE(upstream.at_end()) << "the upstream is given up";
  EXPECT_TRUE(one.at_end());
}

TEST_F(HalfClose, AClientThatEndsItsSideWithItsRequestsIsAnsweredWhatIsAnsweredHere) {
  limit_all(0);
  start();
  RawClient one = client();
  one.send(kGet + kGet);
  one.finish_sending();
  const std::string all = one.read_all();
  EXPECT_EQ(status_of(all), 429);
  EXPECT_TRUE(contains(all.substr(1), "HTTP/1.1 429")) << "and the second";
}

TEST_F(HalfClose, AnUpstreamThatEndsItsSideWithItsAnswerHasAnsweredWhole) {
  start();
  for (const std::string& answer :
       {kOk, std::string("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok")}) {
    auto [one, upstream] = begun();
    upstream.send(answer);
    upstream.finish_sending();
    const std::string got = one.read_until("ok");
    EXPECT_EQ(status_of(got), 200);
    EXPECT_TRUE(upstream.at_end()) << "it is not kept";
  }
}

TEST_F(HalfClose, AnUpstreamThatAnswersEarlyAndEndsItsSideLeavesTheUploadUnwanted) {
  start();
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\npart");
  RawClient upstream = accept();
  upstream.read_until("part");
  upstream.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
  upstream.finish_sending();
  EXPECT_EQ(status_of(one.read_response()), 413);
  one.send(std::string(996, 'x') + kGet);
  RawClient next = accept();
  next.read_until("\r\n\r\n");
  next.send(kOk);
  EXPECT_EQ(status_of(one.read_response()), 200) << "what is left of it is not the next request";
}

class LateHalfClose : public HalfClose {
 protected:
  ~LateHalfClose() override { loops_.stop(); }
  void answer_one() { late_.answer_one(loops_.at(0)); }
  // Whatever has reached the gateway by now, it has seen when this returns.
  void let_it_look() {
    RawClient other = client();
    other.send("BROKEN\r\n\r\n");
    EXPECT_EQ(status_of(other.read_all()), 400);
  }

  testing::LateStore late_{store_};
  engine::Engine late_engine_{late_};
};

TEST_F(LateHalfClose, AClientThatLeavesWhileAPipelinedRequestIsDecidedIsGone) {
  limit_all(10);
  start(late_engine_);
  RawClient one = client();
  one.send(kGet + "GET /two HTTP/1.1\r\nHost: h\r\n\r\n");
  answer_one();
  RawClient upstream = accept();
  upstream.read_until("\r\n\r\n");
  upstream.send(kOk);
  one.read_response();
  one.close();
  let_it_look();
  answer_one();
  RawClient next = client();
  next.send("GET /three HTTP/1.1\r\nHost: h\r\n\r\n");
  answer_one();
  EXPECT_TRUE(contains(upstream.read_until("\r\n"), "GET /three "));
}

}  // namespace
}  // namespace weir::gateway
