// TLS towards one server, a Cluster, a Sentinel and what it names; certificates on both sides, and
// what is told where one side expects TLS and the other does not.

#include <gtest/gtest.h>

#include <filesystem>

#include "redis/certificates.h"
#include "redis/faults.h"
#include "redis/fleet.h"

namespace weir {
namespace {

using namespace support;

const Certificates& certificates() {
  static const Certificates made;
  return made;
}

store::RedisOptions trusting(const std::string& url, const Certificates& by = certificates()) {
  store::RedisOptions options = patient(url);
  options.tls = {by.ca(), by.cert(), by.key(), ""};
  return options;
}

// Whether a store by these options never decides, and says `why` in the end.
void expect_trouble(store::RedisOptions options, std::string_view why) {
  options.timeout = milliseconds(20);
  options.connect_timeout = milliseconds(300);
  Runner runner(options);
  int known = 0;
  times(runner, bucket(10), 20, known);
  EXPECT_EQ(known, 0);
  EXPECT_TRUE(support::wait_until([&] {
    return runner.store().trouble().find(why) != std::string::npos;
  })) << runner.store().trouble();
}

struct TlsServer {
  explicit TlsServer(const Certificates& by = certificates())
      : port(free_port()), server(by.server_arguments(port)) {}
  std::string url(std::string_view scheme = "rediss") const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(port);
  }

  int port;
  RedisServer server;
};

TEST(RedisTls, IsSpokenToOneServerWithCertificatesOnBothSides) {
  TlsServer tls;
  Runner runner(trusting(tls.url()));
  EXPECT_TRUE(runner.charge(bucket(10), wall_now()).known);
  // By name too, and by the name that is said to be the server's.
  Runner by_name(trusting("rediss://localhost:" + std::to_string(tls.port)));
  EXPECT_TRUE(by_name.charge(bucket(10), wall_now()).known);
  store::RedisOptions named = trusting(tls.url());
  named.tls.server_name = "localhost";
  Runner named_runner(named);
  EXPECT_TRUE(named_runner.charge(bucket(10), wall_now()).known);
}

TEST(RedisTls, TrustsNoServerThatNobodyVouchesForOrThatHasAnotherName) {
  TlsServer tls;
  store::RedisOptions options = trusting(tls.url());
  options.tls.ca.clear();
  expect_trouble(options, "cannot agree on TLS");
  const Certificates others;
  options.tls.ca = others.ca();
  expect_trouble(options, "cannot agree on TLS");
  options = trusting(tls.url());
  options.tls.server_name = "redis.example";
  expect_trouble(options, "cannot agree on TLS");
}

TEST(RedisTls, IsRefusedWithoutACertificateWhereTheServerWantsOne) {
  TlsServer tls;
  store::RedisOptions options = trusting(tls.url());
  options.tls.cert.clear();
  options.tls.key.clear();
  expect_trouble(options, "certificate required");
}

TEST(RedisTls, ThatIsExpectedOnOneSideAloneIsNamed) {
  TlsServer tls;
  expect_trouble(trusting("rediss://127.0.0.1:" + std::to_string(tls.server.port())),
                 "is TLS expected on this port?");
  expect_trouble(trusting(tls.url("redis")), "is TLS expected on this port?");
}

TEST(RedisTls, IsSpokenToEveryNodeOfACluster) {
  RedisCluster cluster(false, &certificates());
  Runner runner(trusting(cluster.url()));
  runner.wait_all_ready();
  for (int i = 0; i < 50; ++i) {
    const std::string key = "1:" + std::to_string(i) + ",";
    Charge charge = bucket(10);
    charge.key = key;
    EXPECT_EQ(runner.charge(charge, wall_now()).verdict.remaining, 9u);
  }
}

struct Hops {
  bool data;
  bool sentinel;
  const char* before;  // of the place
  const char* after;
};

class SentinelTls : public testing::TestWithParam<Hops> {};

TEST_P(SentinelTls, IsSpokenWhereTheUrlSaysSoAndNamedWhereItIsMissing) {
  const Hops& hops = GetParam();
  Sentineled fleet({&certificates(), hops.data, hops.sentinel});
  Runner runner(trusting(hops.before + fleet.place() + hops.after));
  EXPECT_LE(runner.until_known(bucket(10), seconds(10)), seconds(10));
  EXPECT_TRUE(runner.charge(bucket(10), wall_now()).known);

  const std::string place = fleet.place();
  const std::string sentinel = "redis sentinel " + place.substr(0, place.find('/'));
  const std::string scheme = hops.data ? "rediss+sentinel://" : "redis+sentinel://";
  const std::string wrong = hops.sentinel ? "?sentinel_tls=off" : "?sentinel_tls=on";
  expect_trouble(trusting(scheme + place + wrong), sentinel + ": ");
  expect_trouble(trusting(scheme + place + wrong), "is TLS expected on this port?");
}

INSTANTIATE_TEST_SUITE_P(
    All, SentinelTls,
    testing::Values(Hops{false, false, "redis+sentinel://", ""},
                    Hops{true, true, "rediss+sentinel://", ""},
                    Hops{true, false, "rediss+sentinel://", "?sentinel_tls=off"},
                    Hops{false, true, "redis+sentinel://", "?sentinel_tls=on"}),
    [](const testing::TestParamInfo<Hops>& tested) {
      return std::string(tested.param.data ? "DataTls" : "DataPlain") +
             (tested.param.sentinel ? "SentinelTls" : "SentinelPlain");
    });

TEST(RedisTls, ReadsRenewedFilesAtTheNextConnection) {
  const Certificates renewed;
  TlsServer tls(renewed);
  store::RedisOptions options = trusting(tls.url(), renewed);
  options.connect_timeout = milliseconds(500);
  options.timeout = milliseconds(500);
  Runner runner(options);
  EXPECT_LE(runner.until_known(bucket(10), seconds(10)), seconds(10));
  tls.server.stop();
  renewed.renew();
  tls.server.start();
  EXPECT_LE(runner.until_known(bucket(10), seconds(10)), seconds(10));

  // Half a change: what was read before stays, and what is wrong is logged.
  std::filesystem::resize_file(renewed.key(), 10);
  testing::internal::CaptureStderr();
  tls.server.stop();
  EXPECT_TRUE(support::wait_until(
      [&] { return runner.store().trouble().find("refused") != std::string::npos; }));
  EXPECT_NE(testing::internal::GetCapturedStderr().find(renewed.key()), std::string::npos);
}

struct TlsCase {
  std::string ca, cert, key, named;
};

TEST(RedisTls, RefusesFilesThatDoNotFit) {
  net::Loops loops(1);
  const Certificates& mine = certificates();
  const Certificates others;
  const TlsCase cases[] = {{"/nonexistent", "", "", "/nonexistent"},
                           {"", mine.cert(), "", "store.cert is given without store.key"},
                           {"", "", mine.key(), "store.key is given without store.cert"},
                           {"", "/no", mine.key(), "store.cert: cannot use /no"},
                           {"", mine.cert(), "/no", "store.key: cannot use /no"},
                           {"", mine.cert(), others.key(), "is not the key of"},
                           {mine.key(), "", "", "store.ca: cannot use"}};
  for (const TlsCase& one : cases) {
    store::RedisOptions options;
    options.url = "rediss://localhost";
    options.tls = {one.ca, one.cert, one.key, ""};
    const auto made = store::RedisStore::make(loops, options);
    ASSERT_FALSE(made.has_value()) << one.named;
    EXPECT_NE(made.error().message.find(one.named), std::string::npos) << made.error().message;
  }
}

// Each with its own pair, as two programs on one machine.
TEST(RedisTls, TwoStoresShowTwoCertificates) {
  const Certificates others;
  TlsServer one;
  TlsServer two(others);
  Runner first(trusting(one.url()));
  Runner second(trusting(two.url(), others));
  EXPECT_TRUE(first.charge(bucket(10), wall_now()).known);
  EXPECT_TRUE(second.charge(bucket(10), wall_now()).known);
  expect_trouble(trusting(two.url()), "cannot agree on TLS");
}

}  // namespace
}  // namespace weir
