#include "tools/admin_client.h"

#include <gtest/gtest.h>

namespace weir::tools {
namespace {

TEST(AdminClient, ReadsAUrlWithAndWithoutItsScheme) {
  EXPECT_EQ(AdminClient::make("http://127.0.0.1:9090/", "")->address(), "127.0.0.1:9090");
  EXPECT_EQ(AdminClient::make("localhost:1", "")->address(), "localhost:1");
  EXPECT_EQ(AdminClient::make("http://[::1]:9090", "")->address(), "[::1]:9090");
}

TEST(AdminClient, SpeaksTlsWhereTheUrlSaysSo) {
  const auto client = AdminClient::make("https://[::1]:9090", "");
  EXPECT_EQ(client->address(), "[::1]:9090");
  EXPECT_TRUE(client->secure());
  EXPECT_FALSE(AdminClient::make("http://[::1]:9090", "")->secure());
}

TEST(AdminClient, RefusesFilesThatItCannotUse) {
  net::TlsClientFiles files;
  files.ca = "/no/such/file.pem";
  const auto plain = AdminClient::make("http://127.0.0.1:1", "", files);
  ASSERT_FALSE(plain);
  EXPECT_TRUE(plain.error().message.find("are for https") != std::string::npos);
  const auto missing = AdminClient::make("https://127.0.0.1:1", "", files);
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().message.find(files.ca) != std::string::npos)
      << missing.error().message;
  net::TlsClientFiles half;
  half.cert = "cert.pem";
  const auto alone = AdminClient::make("https://127.0.0.1:1", "", half);
  ASSERT_FALSE(alone);
  EXPECT_TRUE(alone.error().message.find("go together") != std::string::npos);
}

TEST(AdminClient, RefusesWhatIsNoUrl) {
  for (const char* wrong : {"", "127.0.0.1", "http://:9090", "http://a:b", "https://a:1/x", "a:"}) {
    const auto client = AdminClient::make(wrong, "");
    ASSERT_FALSE(client) << wrong;
    EXPECT_EQ(client.error().code, ErrorCode::kInvalid);
  }
}

TEST(AdminClient, SaysWhoDoesNotAnswer) {
  const auto client = AdminClient::make("http://127.0.0.1:1", "");
  const auto answer = client->get("/v1/stats");
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().message.starts_with("no answer from 127.0.0.1:1: Connection refused"))
      << answer.error().message;
}

}  // namespace
}  // namespace weir::tools
