// Identity: kind 8 of the shared cases. Trusted are 192.0.2.0/24 and 2001:db8:f::/48, the peer is
// 192.0.2.10 unless said.

#include "policy/identity.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::policy {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Sent {
  Pairs headers = {};
  Pairs cookies = {};
  Pairs query = {};
};

class FakeFields final : public RequestFields {
 public:
  explicit FakeFields(Sent sent) : sent_(std::move(sent)) {}

  std::optional<std::string_view> header(std::string_view name, std::size_t index) const override {
    for (const auto& [key, value] : sent_.headers) {
      if (key == name && index-- == 0) return value;
    }
    return std::nullopt;
  }
  Found cookie(std::string_view name) const override { return find(sent_.cookies, name); }
  Found query(std::string_view name) const override { return find(sent_.query, name); }

 private:
  static Found find(const Pairs& pairs, std::string_view name) {
    Found found;
    for (const auto& [key, value] : pairs) {
      if (key == name && found.count++ == 0) found.value = value;
    }
    return found;
  }

  Sent sent_;
};

Identity identity_from(ClientIpSource source) {
  Identity identity;
  identity.client_ip = source;
  identity.trusted_proxies = {*IpPrefix::parse("192.0.2.0/24"),
                              *IpPrefix::parse("2001:db8:f::/48")};
  return identity;
}

IpAddress ip(std::string_view text) {
  return *IpAddress::parse(text);
}

// The client's address, with "!" behind it where the chain was malformed.
std::string client_of(const Identity& identity, const char* peer, Pairs headers) {
  const auto client =
      identify(identity, ip(peer), FakeFields({.headers = std::move(headers)}), at_ns(0));
  if (!client) return "error";
  return client->ip.to_string() + (client->malformed_chain ? "!" : "");
}

std::string client_by_xff(const char* peer, std::initializer_list<std::string> lines) {
  Pairs headers = {};
  for (const std::string& line : lines) headers.emplace_back("x-forwarded-for", line);
  return client_of(identity_from(ClientIpSource::kXForwardedFor), peer, headers);
}

std::string client_by_forwarded(std::initializer_list<std::string> lines) {
  Pairs headers = {};
  for (const std::string& line : lines) headers.emplace_back("forwarded", line);
  return client_of(identity_from(ClientIpSource::kForwarded), "192.0.2.10", headers);
}

TEST(Identity, TakesTheRightmostHopThatIsNotTrusted) {
  EXPECT_EQ(client_by_xff("192.0.2.10", {"6.6.6.6, 203.0.113.5"}), "203.0.113.5");
  EXPECT_EQ(client_by_xff("192.0.2.10", {"198.51.100.9"}), "198.51.100.9");
  EXPECT_EQ(client_by_xff("192.0.2.10", {"6.6.6.6, 203.0.113.5, 192.0.2.20"}), "203.0.113.5");
  EXPECT_EQ(client_by_xff("192.0.2.10", {"6.6.6.6,203.0.113.5,\t2001:db8:f::1"}), "203.0.113.5");
  EXPECT_EQ(client_by_xff("192.0.2.10", {}), "192.0.2.10");
}

TEST(Identity, BelievesNoHeaderOfAPeerThatIsNotTrusted) {
  const Pairs headers = {{"x-forwarded-for", "198.51.100.1"},
                         {"x-real-ip", "198.51.100.1"},
                         {"forwarded", "for=198.51.100.1"},
                         {"true-client-ip", "198.51.100.1"},
                         {"cf-connecting-ip", "198.51.100.1"}};
  for (const auto source :
       {ClientIpSource::kXForwardedFor, ClientIpSource::kForwarded, ClientIpSource::kXRealIp,
        ClientIpSource::kHeader, ClientIpSource::kProxyProtocol, ClientIpSource::kPeer}) {
    Identity identity = identity_from(source);
    identity.client_ip_header = "cf-connecting-ip";
    EXPECT_EQ(client_of(identity, "203.0.113.77", headers), "203.0.113.77");
  }
}

TEST(Identity, ReadsExactlyOneSource) {
  const Pairs headers = {{"x-forwarded-for", "198.51.100.1"},
                         {"x-real-ip", "198.51.100.2"},
                         {"forwarded", "for=198.51.100.3"},
                         {"cf-connecting-ip", "198.51.100.4"}};
  const struct {
    ClientIpSource source;
    const char* client;
  } table[] = {
      {ClientIpSource::kXForwardedFor, "198.51.100.1"}, {ClientIpSource::kXRealIp, "198.51.100.2"},
      {ClientIpSource::kForwarded, "198.51.100.3"},     {ClientIpSource::kHeader, "198.51.100.4"},
      {ClientIpSource::kProxyProtocol, "192.0.2.10"},   {ClientIpSource::kPeer, "192.0.2.10"},
  };
  for (const auto& row : table) {
    Identity identity = identity_from(row.source);
    identity.client_ip_header = "cf-connecting-ip";
    EXPECT_EQ(client_of(identity, "192.0.2.10", headers), row.client);
  }
}

TEST(Identity, JoinsSeveralHeaderLinesInOrder) {
  EXPECT_EQ(client_by_xff("192.0.2.10", {"198.51.100.66", "203.0.113.5"}), "203.0.113.5");
  EXPECT_EQ(client_by_xff("192.0.2.10", {"198.51.100.66", "203.0.113.5", "192.0.2.1, 192.0.2.2"}),
            "203.0.113.5");
  EXPECT_EQ(client_by_forwarded({"for=198.51.100.66", "for=203.0.113.5", "for=192.0.2.1"}),
            "203.0.113.5");
}

TEST(Identity, StopsAtTheLastTrustedHopBeforeGarbage) {
  for (const char* garbage :
       {"unknown", "", ",", " , ,", "localhost", "1.2.3", "01.02.03.04", "0x7f.1", "999.1.1.1",
        "_hidden", "203.0.113.5,", "203.0.113.5, ,", "6.6.6.6 203.0.113.5", "\"203.0.113.5\""}) {
    EXPECT_EQ(client_by_xff("192.0.2.10", {garbage}), "192.0.2.10!") << garbage;
  }
  EXPECT_EQ(client_by_xff("192.0.2.10", {std::string("203.0.113.5\0", 12)}), "192.0.2.10!");
  EXPECT_EQ(client_by_xff("192.0.2.10", {std::string(8192, ',')}), "192.0.2.10!");
  EXPECT_EQ(client_by_xff("192.0.2.10", {"1.2.3.4, unknown, 192.0.2.20"}), "192.0.2.20!");
  EXPECT_EQ(client_by_xff("192.0.2.10", {"1.2.3.4, 2001:db8::5"}), "2001:db8::5");
  EXPECT_EQ(client_by_xff("192.0.2.10", {"1.2.3.4", ""}), "192.0.2.10!");
}

TEST(Identity, ReadsPortsBracketsZonesAndMappedAddresses) {
  const struct {
    const char* hop;
    const char* client;
  } table[] = {
      {"203.0.113.9:4711", "203.0.113.9"},   {"[2001:db8::1]:443", "2001:db8::1"},
      {"[2001:db8::1]", "2001:db8::1"},      {"2001:db8::1", "2001:db8::1"},
      {"::ffff:203.0.113.9", "203.0.113.9"}, {"[::ffff:cb00:7109]:1", "203.0.113.9"},
      {"fe80::1%eth0.1", "fe80::1"},         {"6.6.6.6, ::ffff:192.0.2.1", "6.6.6.6"},
  };
  for (const auto& row : table) {
    EXPECT_EQ(client_by_xff("192.0.2.10", {row.hop}), row.client) << row.hop;
  }
  EXPECT_EQ(client_by_xff("::ffff:192.0.2.10", {"203.0.113.9"}), "203.0.113.9");
}

TEST(Identity, TakesTheLeftmostHopWhenAllAreTrusted) {
  EXPECT_EQ(client_by_xff("192.0.2.10", {"192.0.2.1, 192.0.2.2"}), "192.0.2.1");
  EXPECT_EQ(client_by_xff("192.0.2.11", {"192.0.2.3"}), "192.0.2.3");
}

TEST(Identity, WalksNoFurtherThanItsBound) {
  std::string chain = "203.0.113.5";
  for (int i = 0; i < 10000; ++i) chain += ", 192.0.2.1";
  EXPECT_EQ(client_by_xff("192.0.2.10", {chain}), "192.0.2.1");
  std::string forwarded = "for=203.0.113.5";
  for (int i = 0; i < 10000; ++i) forwarded += ",for=192.0.2.1";
  EXPECT_EQ(client_by_forwarded({forwarded}), "192.0.2.1");
}

TEST(Identity, ReadsForwardedOfRfc7239) {
  const struct {
    const char* line;
    const char* client;
  } table[] = {
      {"for=\"[2001:db8:1::1]:4711\";proto=https, for=192.0.2.20", "2001:db8:1::1"},
      {"for=203.0.113.5", "203.0.113.5"},
      {"For=203.0.113.5", "203.0.113.5"},
      {"proto=https;FOR=\"203.0.113.5:80\"; by=192.0.2.1", "203.0.113.5"},
      {"for=\"203.0.113.5:_port\"", "203.0.113.5"},
      {"for=203.0.113.5;host=\"a,b;for=6.6.6.6\"", "203.0.113.5"},
      {"for=6.6.6.6, for=203.0.113.5;host=\"a\\\",b\"", "203.0.113.5"},
      {"for=_secret", "192.0.2.10!"},
      {"for=unknown", "192.0.2.10!"},
      {"for=203.0.113.5;by=x,for=\"a,b\"", "192.0.2.10!"},
      {"for=203.0.113.5, for=\"192.0.2.20", "192.0.2.10!"},
      {"for=\"203.0.113.5", "192.0.2.10!"},
      {"for=\"", "192.0.2.10!"},
      {"for=\"\\", "192.0.2.10!"},
      {"for=", "192.0.2.10!"},
      {"for", "192.0.2.10!"},
      {"", "192.0.2.10!"},
      {"proto=https", "192.0.2.10!"},
      {"for=203.0.113.5;for=6.6.6.6", "192.0.2.10!"},
      {"for=203.0.113.5,", "192.0.2.10!"},
      {"for=6.6.6.6, proto=https, for=192.0.2.20", "192.0.2.20!"},
  };
  for (const auto& row : table) EXPECT_EQ(client_by_forwarded({row.line}), row.client) << row.line;
}

TEST(Identity, AnUnclosedQuoteInOneLineDoesNotSwallowTheNext) {
  EXPECT_EQ(client_by_forwarded({"for=\"", "for=203.0.113.5"}), "203.0.113.5");
}

TEST(Identity, ReadsOneAddressFromASingleHeader) {
  const Identity identity = identity_from(ClientIpSource::kXRealIp);
  const auto client = [&](Pairs headers) { return client_of(identity, "192.0.2.10", headers); };
  EXPECT_EQ(client({{"x-real-ip", "203.0.113.5"}}), "203.0.113.5");
  EXPECT_EQ(client({{"x-real-ip", "192.0.2.77"}}), "192.0.2.77");
  EXPECT_EQ(client({{"x-real-ip", "1.2.3.4, 203.0.113.5"}}), "192.0.2.10!");
  EXPECT_EQ(client({{"x-real-ip", ""}}), "192.0.2.10!");
  EXPECT_EQ(client({}), "192.0.2.10");
  EXPECT_EQ(client({{"x-real-ip", "203.0.113.5"}, {"x-real-ip", "203.0.113.6"}}), "error");
}

std::string user_and_tier(const Identity& identity, const char* peer, const FakeFields& fields) {
  const auto client = identify(identity, ip(peer), fields, at_ns(0));
  if (!client) return client.error().message;
  return std::string(client->user.value_or("-")) + ' ' + std::string(client->tier.value_or("-"));
}

TEST(Identity, BelievesUserAndTierFromTrustedProxiesOnly) {
  Identity identity = identity_from(ClientIpSource::kXForwardedFor);
  const FakeFields fields({.headers = {{"x-user-id", "42"}, {"x-plan", "premium"}}});
  EXPECT_EQ(user_and_tier(identity, "192.0.2.10", fields), "42 premium");
  EXPECT_EQ(user_and_tier(identity, "203.0.113.5", fields), "- -");
  identity.trust_clients = true;
  EXPECT_EQ(user_and_tier(identity, "203.0.113.5", fields), "42 premium");
}

TEST(Identity, ReadsUserAndTierFromCookieAndQuery) {
  Identity identity = identity_from(ClientIpSource::kXForwardedFor);
  identity.user = {AttributeSource::Kind::kCookie, "sid"};
  identity.tier = {AttributeSource::Kind::kQuery, "plan"};
  EXPECT_EQ(user_and_tier(identity, "192.0.2.10",
                          FakeFields({.cookies = {{"sid", "s1"}}, .query = {{"plan", "pro"}}})),
            "s1 pro");
  EXPECT_EQ(user_and_tier(identity, "192.0.2.10",
                          FakeFields({.headers = {{"sid", "s1"}, {"plan", "pro"}}})),
            "- -");
}

TEST(Identity, AnEmptyUserIsNoUser) {
  const Identity identity = identity_from(ClientIpSource::kXForwardedFor);
  EXPECT_EQ(user_and_tier(identity, "192.0.2.10", FakeFields({.headers = {{"x-user-id", ""}}})),
            "- -");
  EXPECT_EQ(user_and_tier(identity, "192.0.2.10",
                          FakeFields({.headers = {{"x-user-id", "Victim@Example.test"}}})),
            "Victim@Example.test -");
}

TEST(Identity, RefusesARepeatedIdentityWhoeverSendsIt) {
  Identity identity = identity_from(ClientIpSource::kXForwardedFor);
  const FakeFields headers({.headers = {{"x-user-id", "42"}, {"x-user-id", "43"}}});
  const char* said =
      "header x-user-id says who the request comes from and stands more than once; "
      "send it once";
  EXPECT_EQ(user_and_tier(identity, "192.0.2.10", headers), said);
  EXPECT_EQ(user_and_tier(identity, "203.0.113.5", headers), said);
  identity.user = {AttributeSource::Kind::kCookie, "sid"};
  EXPECT_EQ(
      user_and_tier(identity, "192.0.2.10", FakeFields({.cookies = {{"sid", "a"}, {"sid", "a"}}})),
      "cookie sid says who the request comes from and stands more than once; send it once");
  identity.user = {AttributeSource::Kind::kQuery, "u"};
  EXPECT_EQ(
      user_and_tier(identity, "192.0.2.10", FakeFields({.query = {{"u", "a"}, {"u", "b"}}})),
      "query parameter u says who the request comes from and stands more than once; send it once");
}

}  // namespace
}  // namespace weir::policy
