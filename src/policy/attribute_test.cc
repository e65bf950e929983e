// Attributes' names, as policies write them.

#include "policy/attribute.h"

#include <gtest/gtest.h>

namespace weir::policy {
namespace {

TEST(Attribute, ReadsEveryNameOfTheContractAndWritesItBack) {
  const std::vector<std::string> declared = {"plan", "tenant"};
  const struct {
    const char* text;
    const char* written;  // "-": no attribute
  } table[] = {
      {"ip", "ip"},
      {"user", "user"},
      {"tier", "tier"},
      {"method", "method"},
      {"path", "path"},
      {"host", "host"},
      {"domain", "domain"},
      {"message", "message"},
      {"header.X-Api-Key", "header.x-api-key"},
      {"cookie.Session", "cookie.Session"},
      {"query.api key", "query.api key"},
      {"message./tokens", "message./tokens"},
      {"message./a~1b/~0", "message./a~1b/~0"},
      {"plan", "plan"},
      {"tenant", "tenant"},
      {"region", "-"},
      {"Ip", "-"},
      {"ip ", "-"},
      {"", "-"},
      {"header.", "-"},
      {"header", "-"},
      {"header.a b", "-"},
      {"cookie.", "-"},
      {"cookie.a;b", "-"},
      {"query.", "-"},
      {"message.", "-"},
      {"message.tokens", "-"},
      {"message./a~2", "-"},
      {"message./a~", "-"},
  };
  for (const auto& row : table) {
    const auto attribute = parse_attribute(row.text, declared);
    EXPECT_EQ(attribute ? to_string(*attribute) : "-", row.written) << row.text;
  }
}

}  // namespace
}  // namespace weir::policy
