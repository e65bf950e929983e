// Who may come in: passwords, users of little rights, TLS on both sides.

#include <gtest/gtest.h>

#include "redis/faults.h"
#include "redis/fleet.h"

namespace weir {
namespace {

using namespace support;

TEST(RedisLogin, SaysThatTheServerWantsAnotherPasswordAndNeverTellsIt) {
  RedisServer server({"--requirepass", "p@s:w/o#r?d%+"});
  for (std::string_view who : {"", ":wrong@"}) {
    Runner runner(
        hasty("redis://" + std::string(who) + "127.0.0.1:" + std::to_string(server.port())));
    int known = 0;
    times(runner, bucket(10), 20, known);
    EXPECT_EQ(known, 0);
    EXPECT_EQ(runner.store().trouble().find("wrong"), std::string::npos);
    EXPECT_FALSE(runner.store().up());
  }
  Runner runner(support::patient(
      "redis://:p%40s%3Aw%2Fo%23r%3Fd%25+@127.0.0.1:" + std::to_string(server.port()) + "/3"));
  EXPECT_TRUE(runner.charge(bucket(10), support::wall_now()).known);
}

TEST(RedisLogin, LogsInAsAUserWithTheLeastRights) {
  RedisServer server;
  RedisClient client(server.socket_path());
  client({"ACL",    "SETUSER", "weir",    "on",    ">secret",           "~weir:*", "+@scripting",
          "+get",   "+set",    "+del",    "+pttl", "+pexpire",          "+time",   "+zscore",
          "+zcard", "+zcount", "+zrange", "+zadd", "+zremrangebyscore", "+exists", "+hello",
          "+auth",  "+ping",   "+client"});
  Runner runner(support::patient("redis://weir:secret@127.0.0.1:" + std::to_string(server.port())));
  EXPECT_TRUE(runner.charge(bucket(10), support::wall_now()).known);
  const Charge log{.rule = &rule_of(SlidingLog{3, seconds(10)}), .counter = "log", .key = "1:k,"};
  EXPECT_TRUE(runner.charge({bucket(10), log}, support::wall_now()).answers[1].known);
}

TEST(RedisLogin, SpeaksTlsAndShowsItsCertificate) {
  RedisServer plain;  // its folder holds the certificates
  const std::string folder = plain.folder();
  const std::string make =
      "cd " + folder +
      " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
      " -keyout key.pem -out cert.pem -subj /CN=localhost"
      " -addext subjectAltName=DNS:localhost,IP:127.0.0.1 >/dev/null 2>&1";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const int port = support::free_port();
  RedisServer server({"--tls-port", std::to_string(port), "--tls-cert-file", folder + "/cert.pem",
                      "--tls-key-file", folder + "/key.pem", "--tls-ca-cert-file",
                      folder + "/cert.pem", "--tls-auth-clients", "yes"});
  store::RedisOptions options = support::patient("rediss://127.0.0.1:" + std::to_string(port));
  options.tls = {folder + "/cert.pem", folder + "/cert.pem", folder + "/key.pem", ""};
  Runner runner(options);
  EXPECT_TRUE(runner.charge(bucket(10), support::wall_now()).known);

  store::RedisOptions untrusting = hasty(options.url);
  Runner distrustful(untrusting);
  int known = 0;
  times(distrustful, bucket(10), 20, known);
  EXPECT_EQ(known, 0) << "nobody vouches for this server";

  store::RedisOptions mistaken = hasty("rediss://127.0.0.1:" + std::to_string(server.port()));
  mistaken.tls = options.tls;
  Runner to_plain(mistaken);
  times(to_plain, bucket(10), 20, known);
  EXPECT_EQ(known, 0);
  // A plain port says nothing to a TLS hello: the reason is known when connecting has timed out.
  EXPECT_TRUE(support::wait_until([&] {
    return to_plain.store().trouble().find("is TLS expected on this port?") != std::string::npos;
  })) << to_plain.store().trouble();
}

struct TlsCase {
  std::string ca, cert, key, named;
};

TEST(RedisLogin, RefusesTlsFilesThatDoNotFit) {
  net::Loops loops(1);
  const TlsCase cases[] = {{"/nonexistent", "", "", "/nonexistent"},
                           {"", "/nonexistent", "", "store.key"},
                           {"", "/no", "/no", "/no"}};
  for (const TlsCase& one : cases) {
    store::RedisOptions options;
    options.url = "rediss://localhost";
    options.tls = {one.ca, one.cert, one.key, ""};
    const auto made = store::RedisStore::make(loops, options);
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().message.find(one.named), std::string::npos) << made.error().message;
  }
}

}  // namespace
}  // namespace weir
