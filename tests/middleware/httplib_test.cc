#include "weir/middleware/httplib.h"

#include <gtest/gtest.h>

#include <thread>

#include "middleware/policy.h"

namespace weir {
namespace {

TEST(Httplib, GuardsEveryHandlerOfAServer) {
  Engine engine = make_engine();
  ::httplib::Server server;
  int handled = 0;
  server.Get("/paid", [&handled](const ::httplib::Request&, ::httplib::Response& response) {
    ++handled;
    response.set_content("paid", "text/plain");
  });
  httplib::guard(server, engine);
  const int port = server.bind_to_any_port("127.0.0.1");
  ASSERT_GT(port, 0);
  std::thread serving([&server] { server.listen_after_bind(); });
  ::httplib::Client client("127.0.0.1", port);
  const auto first = client.Get("/paid");
  const auto second = client.Get("/paid");
  server.stop();
  serving.join();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->get_header_value("X-RateLimit-Remaining"), "0");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->status, 429);
  EXPECT_EQ(second->get_header_value("Retry-After"), "3600");
  EXPECT_EQ(handled, 1);
}

}  // namespace
}  // namespace weir
