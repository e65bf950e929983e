#include "wire/proxy_protocol/header.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::proxy_protocol {
namespace {

using Progress = Header::Progress;

const std::string kSignature("\r\n\r\n\0\r\nQUIT\n", 12);

std::string v2(unsigned command, unsigned family, const std::string& block) {
  std::string out = kSignature;
  out.push_back(static_cast<char>(command));
  out.push_back(static_cast<char>(family));
  out.push_back(static_cast<char>(block.size() >> 8));
  out.push_back(static_cast<char>(block.size() & 0xFF));
  return out + block;
}

const std::string kBlockV4("\xCB\x00\x71\x09\xC0\x00\x02\x01\xDC\x04\x01\xBB", 12);

// Every prefix asks for more, the whole is complete, and so it is with bytes behind it.
void expect_complete(const std::string& header, const std::string& source) {
  for (std::size_t size = 0; size < header.size(); ++size) {
    EXPECT_EQ(parse(header.substr(0, size)).progress, Progress::kNeedMore) << size;
  }
  for (const char* behind : {"", "GET / HTTP/1.1\r\n"}) {
    const Header got = parse(header + behind);
    ASSERT_EQ(got.progress, Progress::kComplete) << got.error;
    EXPECT_EQ(got.size, header.size());
    EXPECT_EQ(got.source ? got.source->to_string() : "", source);
  }
}

std::string error_of(const std::string& header) {
  const Header got = parse(header);
  return got.progress == Progress::kError ? std::string(got.error) : "no error";
}

TEST(ProxyHeader, ReadsVersion1ByteByByte) {
  expect_complete("PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n", "203.0.113.9");
  expect_complete("PROXY TCP6 2001:db8::9 2001:db8::1 56324 443\r\n", "2001:db8::9");
  expect_complete("PROXY TCP4 0.0.0.0 0.0.0.0 0 65535\r\n", "0.0.0.0");
}

TEST(ProxyHeader, ReadsVersion2ByteByByte) {
  expect_complete(v2(0x21, 0x11, kBlockV4), "203.0.113.9");
  const std::string v6 = std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') + "\x09" +
                         std::string(16, '\1') + std::string("\0\1\0\2", 4);
  expect_complete(v2(0x21, 0x21, v6), "2001:db8::9");
}

TEST(ProxyHeader, AProxyThatSpeaksForItselfNamesNoClient) {
  expect_complete("PROXY UNKNOWN\r\n", "");
  expect_complete("PROXY UNKNOWN ffff:f...f:ffff 65535 65535\r\n", "");
  expect_complete(v2(0x20, 0x00, ""), "");
  expect_complete(v2(0x20, 0x11, kBlockV4), "");  // LOCAL: what it names is not to be believed
  expect_complete(v2(0x21, 0x00, ""), "");
  expect_complete(v2(0x21, 0x31, std::string(216, 'x')), "");
}

TEST(ProxyHeader, PassesOverExtensions) {
  expect_complete(v2(0x21, 0x11, kBlockV4 + std::string("\x04\x00\x01z", 4)), "203.0.113.9");
}

TEST(ProxyHeader, AMappedIpv4AddressIsTheIpv4Address) {
  expect_complete("PROXY TCP6 ::ffff:203.0.113.9 ::1 1 2\r\n", "203.0.113.9");
}

TEST(ProxyHeader, RefusesWhatIsNoHeaderAtItsFirstWrongByte) {
  const std::string none = "the connection does not begin with a PROXY protocol header";
  EXPECT_EQ(error_of("G"), none);
  EXPECT_EQ(error_of("PROXX"), none);
  EXPECT_EQ(error_of("\r\n\r\nX"), none);
  EXPECT_EQ(error_of("proxy TCP4"), none);
  EXPECT_EQ(error_of(std::string("\x16\x03\x01", 3)), none) << "a TLS hello";
}

TEST(ProxyHeader, RefusesWrongLines) {
  const std::string family = "the family is none of TCP4, TCP6 and UNKNOWN";
  const std::string address = "an address is not one of its family";
  const std::string port = "a port is not a number up to 65535";
  EXPECT_EQ(error_of("PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n"), family);
  EXPECT_EQ(error_of("PROXY \r\n"), family);
  EXPECT_EQ(error_of("PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n"), family);
  EXPECT_EQ(error_of("PROXY TCP4 ::1 ::1 1 2\r\n"), address);
  EXPECT_EQ(error_of("PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n"), address);
  EXPECT_EQ(error_of("PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n"), address);
  EXPECT_EQ(error_of("PROXY TCP4 01.2.3.4 1.2.3.4 1 2\r\n"), address);
  EXPECT_EQ(error_of("PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n"), address);
  EXPECT_EQ(error_of("PROXY TCP4 1.2.3.4  1.2.3.4 1 2\r\n"), address);
  EXPECT_EQ(error_of("PROXY TCP4 1.2.3.4 1.2.3.4\r\n"), port);
  EXPECT_EQ(error_of("PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n"), port);
  EXPECT_EQ(error_of("PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n"), port);
  EXPECT_EQ(error_of("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n"), port);
  EXPECT_EQ(error_of("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n"), port);
}

TEST(ProxyHeader, ALineHasAtMost107Bytes) {
  const std::string start = "PROXY UNKNOWN ";
  const std::string longest = start + std::string(107 - start.size() - 2, 'x') + "\r\n";
  EXPECT_EQ(parse(longest).size, 107u);
  EXPECT_EQ(error_of(start + std::string(107 - start.size(), 'x')),
            "the line has more than 107 bytes");
}

TEST(ProxyHeader, RefusesWrongBlocks) {
  EXPECT_EQ(error_of(v2(0x11, 0x11, kBlockV4)), "the version is not 2");
  EXPECT_EQ(error_of(v2(0x22, 0x11, kBlockV4)), "the command is neither LOCAL nor PROXY");
  EXPECT_EQ(error_of(v2(0x21, 0x12, kBlockV4)), "the protocol is not a stream");
  EXPECT_EQ(error_of(v2(0x21, 0x11, kBlockV4.substr(1))), "the addresses are cut short");
  EXPECT_EQ(error_of(v2(0x21, 0x21, std::string(35, 'x'))), "the addresses are cut short");
}

TEST(ProxyHeader, AHeaderOfMoreThanItsBoundIsToldFromItsLength) {
  const std::string largest = v2(0x21, 0x11, kBlockV4 + std::string(4096 - 16 - 12, 'x'));
  EXPECT_EQ(parse(largest).size, 4096u);
  const std::string larger = v2(0x21, 0x11, kBlockV4 + std::string(4096 - 16 - 11, 'x'));
  EXPECT_EQ(error_of(larger.substr(0, 16)), "the header has more than 4096 bytes");
}

}  // namespace
}  // namespace weir::proxy_protocol
