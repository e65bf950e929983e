#include "net/client_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::net {
namespace {

IpAddress ip(const char* text) {
  return *IpAddress::parse(text);
}

TEST(ClientPlaces, GivesEachClientItsShareAndNotOneMore) {
  ClientPlaces places(2);
  auto first = places.take(ip("203.0.113.1"));
  const auto second = places.take(ip("203.0.113.1"));
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(places.take(ip("203.0.113.1")));
  EXPECT_TRUE(places.take(ip("203.0.113.2"))) << "another client";
  first.reset();
  EXPECT_TRUE(places.take(ip("203.0.113.1"))) << "one has ended";
}

TEST(ClientPlaces, ForgetsWhoHasNoneOpen) {
  ClientPlaces places(1);
  std::vector<ClientPlace> open;
  for (std::uint32_t i = 0; i < 100; ++i) open.push_back(*places.take(IpAddress::v4(i)));
  EXPECT_EQ(places.clients(), 100u);
  EXPECT_FALSE(places.take(IpAddress::v4(1)));
  open.clear();
  EXPECT_EQ(places.clients(), 0u);
}

TEST(ClientPlaces, AnIpv6NetworkOf64BitsIsOneClient) {
  ClientPlaces places(1);
  const auto one = places.take(ip("2001:db8::1"));
  EXPECT_FALSE(places.take(ip("2001:db8::ffff:2")));
  EXPECT_TRUE(places.take(ip("2001:db8:0:1::1")));
}

TEST(ClientPlaces, WithoutABoundNothingIsCounted) {
  ClientPlaces places(0);
  const auto one = places.take(ip("203.0.113.1"));
  const auto two = places.take(ip("203.0.113.1"));
  EXPECT_TRUE(one && two);
  EXPECT_EQ(places.clients(), 0u);
}

TEST(ClientPlaces, APlaceThatHasMovedIsGivenBackOnce) {
  ClientPlaces places(1);
  auto one = places.take(ip("203.0.113.1"));
  {
    const ClientPlace moved = *std::move(one);
    EXPECT_FALSE(places.take(ip("203.0.113.1")));
  }
  EXPECT_TRUE(places.take(ip("203.0.113.1")));
}

}  // namespace
}  // namespace weir::net
