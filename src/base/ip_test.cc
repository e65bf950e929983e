// IpAddress and IpPrefix: every spelling, by bits. Addresses are from the documentation ranges.

#include "base/ip.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

struct Spelling {
  const char* text;
  const char* canonical;  // nullptr: not an address
};

std::string parsed(std::string_view text) {
  const auto address = IpAddress::parse(text);
  return address ? address->to_string() : "-";
}

std::string parsed_with_port(std::string_view text) {
  const auto address = IpAddress::parse_with_port(text);
  return address ? address->to_string() : "-";
}

TEST(IpAddress, ReadsOneAddressAndNothingElse) {
  const Spelling table[] = {
      {"203.0.113.5", "203.0.113.5"},
      {"0.0.0.0", "0.0.0.0"},
      {"255.255.255.255", "255.255.255.255"},
      {"", "-"},
      {"1.2.3", "-"},
      {"1.2.3.4.5", "-"},
      {"1.2.3.4.", "-"},
      {".1.2.3.4", "-"},
      {"1..3.4", "-"},
      {"01.02.03.04", "-"},
      {"1.2.3.00", "-"},
      {"1.2.3.256", "-"},
      {"999.1.1.1", "-"},
      {"0x7f.1", "-"},
      {"2130706433", "-"},
      {" 1.2.3.4", "-"},
      {"1.2.3.4 ", "-"},
      {"1.2.3.+4", "-"},
      {"1.2.3.4%eth0", "-"},
      {"1.2.3.4:80", "-"},
      {"unknown", "-"},
      {"localhost", "-"},
      {"_hidden", "-"},
      {"::", "::"},
      {"::1", "::1"},
      {"1::", "1::"},
      {"2001:db8::1", "2001:db8::1"},
      {"2001:0DB8:0001:0002:0::9", "2001:db8:1:2::9"},
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
      {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
      {"fe80::1%eth0", "fe80::1"},
      {"fe80::1%eth0.1", "fe80::1"},
      {"fe80::1%", "-"},
      {"fe80::1%a b", "-"},
      {"fe80::1%a%b", "-"},
      {"::ffff:1.2.3.4", "1.2.3.4"},
      {"::FFFF:102:304", "1.2.3.4"},
      {"0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4"},
      {"0000:0000:0000:0000:0000:ffff:0102:0304", "1.2.3.4"},
      {"::1.2.3.4", "::102:304"},
      {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
      {"2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::102:304"},
      {"::ffff:01.2.3.4", "-"},
      {"::1.2.3", "-"},
      {"1.2.3.4::", "-"},
      {"::1.2.3.4:5", "-"},
      {"1:2:3:4:5:6:7:1.2.3.4", "-"},
      {":", "-"},
      {":::", "-"},
      {"1:::2", "-"},
      {"1::2::3", "-"},
      {"1:2:3:4:5:6:7", "-"},
      {"1:2:3:4:5:6:7:8:9", "-"},
      {"1:2:3:4:5:6:7:8::", "-"},
      {"::1:2:3:4:5:6:7:8", "-"},
      {"1:2:3:4:5:6:7:8:", "-"},
      {":1:2:3:4:5:6:7:8", "-"},
      {"12345::", "-"},
      {"g::", "-"},
      {"[::1]", "-"},
  };
  for (const Spelling& row : table) EXPECT_EQ(parsed(row.text), row.canonical) << row.text;
}

TEST(IpAddress, DoesNotReadPastAnInnerZeroByte) {
  EXPECT_EQ(parsed(std::string_view("1.2.3.4\0", 8)), "-");
  EXPECT_EQ(parsed(std::string_view("::1\0", 4)), "-");
}

TEST(IpAddress, ReadsAddressesAsProxiesWriteThem) {
  const Spelling table[] = {
      {"203.0.113.9", "203.0.113.9"},
      {"203.0.113.9:4711", "203.0.113.9"},
      {"203.0.113.9:_hidden", "203.0.113.9"},
      {"203.0.113.9:0", "203.0.113.9"},
      {"203.0.113.9:65536", "-"},
      {"203.0.113.9:", "-"},
      {"203.0.113.9:08", "-"},
      {"203.0.113.9:_", "-"},
      {"2001:db8::1", "2001:db8::1"},
      {"[2001:db8::1]", "2001:db8::1"},
      {"[2001:db8::1]:443", "2001:db8::1"},
      {"[2001:db8::1%eth0]:443", "2001:db8::1"},
      {"[::ffff:1.2.3.4]:443", "1.2.3.4"},
      {"[2001:db8::1]443", "-"},
      {"[2001:db8::1]:", "-"},
      {"[2001:db8::1]:x", "-"},
      {"[2001:db8::1", "-"},
      {"2001:db8::1]", "-"},
      {"[203.0.113.9]", "-"},
      {"[]", "-"},
      {"[", "-"},
      {":80", "-"},
      {"", "-"},
  };
  for (const Spelling& row : table) {
    EXPECT_EQ(parsed_with_port(row.text), row.canonical) << row.text;
  }
}

struct Masking {
  const char* text;
  unsigned bits;
  const char* masked;
};

TEST(IpAddress, KeepsTheFirstBitsOfAPrefix) {
  const Masking table[] = {
      {"203.0.113.255", 32, "203.0.113.255"},
      {"203.0.113.255", 24, "203.0.113.0"},
      {"203.0.113.255", 25, "203.0.113.128"},
      {"203.0.113.255", 0, "0.0.0.0"},
      {"2001:db8:1:2:a:b:c:d", 64, "2001:db8:1:2::"},
      {"2001:db8:1:2ff::1", 56, "2001:db8:1:200::"},
      {"2001:db8:1:300::1", 56, "2001:db8:1:300::"},
      {"2001:db8::1", 128, "2001:db8::1"},
      {"2001:db8::1", 127, "2001:db8::"},
      {"2001:db8::1", 0, "::"},
      {"::ffff:203.0.113.7", 32, "203.0.113.7"},
  };
  for (const Masking& row : table) {
    EXPECT_EQ(IpAddress::parse(row.text)->masked(row.bits).to_string(), row.masked) << row.text;
  }
}

TEST(IpAddress, WritesTheLongestTextWithinItsBound) {
  char text[IpAddress::kTextMax];
  const auto address = IpAddress::parse("aaaa:bbbb:cccc:dddd:eeee:ffff:1111:2222");
  EXPECT_EQ(address->write(text), IpAddress::kTextMax);
}

TEST(IpPrefix, ReadsBlocksAndBareAddresses) {
  const Spelling table[] = {
      {"10.0.0.0/8", "10.0.0.0/8"},
      {"0.0.0.0/0", "0.0.0.0/0"},
      {"203.0.113.5", "203.0.113.5/32"},
      {"2001:db8::/32", "2001:db8::/32"},
      {"2001:db8::1", "2001:db8::1/128"},
      {"::/0", "::/0"},
      {"::ffff:10.0.0.0/104", "10.0.0.0/8"},
      {"::ffff:0:0/96", "0.0.0.0/0"},
      {"::ffff:10.0.0.0/95", "-"},
      {"10.0.0.1/8", "-"},
      {"2001:db8::1/64", "-"},
      {"10.0.0.0/33", "-"},
      {"10.0.0.0/08", "-"},
      {"10.0.0.0/", "-"},
      {"10.0.0.0/-1", "-"},
      {"10.0.0.0/8/8", "-"},
      {"2001:db8::/129", "-"},
      {"fe80::%eth0/64", "-"},
      {"/8", "-"},
      {"", "-"},
  };
  for (const Spelling& row : table) {
    const auto prefix = IpPrefix::parse(row.text);
    EXPECT_EQ(prefix ? prefix->to_string() : "-", row.canonical) << row.text;
  }
}

struct Containing {
  const char* block;
  const char* address;
  bool contained;
};

TEST(IpPrefix, ContainsByBitsAndNeverAcrossFamilies) {
  const Containing table[] = {
      {"10.0.0.0/8", "10.255.0.1", true},
      {"10.0.0.0/8", "11.0.0.1", false},
      {"10.0.0.0/8", "::ffff:10.1.2.3", true},
      {"::ffff:10.0.0.0/104", "10.1.2.3", true},
      {"0.0.0.0/0", "::1", false},
      {"::/0", "10.0.0.1", false},
      {"::/0", "2001:db8::1", true},
      {"2001:db8::/32", "2001:db8:ffff::1", true},
      {"2001:db8::/32", "2001:db9::1", false},
      {"203.0.113.5", "203.0.113.5", true},
      {"203.0.113.5", "203.0.113.4", false},
  };
  for (const Containing& row : table) {
    EXPECT_EQ(IpPrefix::parse(row.block)->contains(*IpAddress::parse(row.address)), row.contained)
        << row.block << ' ' << row.address;
  }
}

TEST(IpAddress, KnowsLoopbackInEverySpelling) {
  for (const char* text : {"127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IpAddress::parse(text)->is_loopback()) << text;
  }
  for (const char* text : {"128.0.0.1", "::2", "::", "7f00::1"}) {
    EXPECT_FALSE(IpAddress::parse(text)->is_loopback()) << text;
  }
}

}  // namespace
}  // namespace weir
