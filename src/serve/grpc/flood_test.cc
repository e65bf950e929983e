#include <gtest/gtest.h>

#include "support/grpc_server.h"

namespace weir::grpc {
namespace {

using testing::grpc_frame;
using testing::GrpcClient;
using testing::GrpcServer;

std::string frame(char type, char flags, std::uint32_t stream, const std::string& payload) {
  std::string out;
  for (int shift = 16; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(payload.size() >> shift));
  }
  out.push_back(type);
  out.push_back(flags);
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(stream >> shift));
  return out + payload;
}

std::string times(int count, const std::string& bytes) {
  std::string out;
  for (int i = 0; i < count; ++i) out += bytes;
  return out;
}

constexpr char kData = 0;
constexpr char kHeaders = 1;
constexpr char kPriority = 2;
constexpr char kContinuation = 9;

// The flood must end with the connection closed; what was asked before it is answered.
void expect_closed_calmly(GrpcClient& client) {
  while (client.receive()) {
  }
  EXPECT_TRUE(client.told_to_go_away() || client.raw().at_end());
}

TEST_F(GrpcServer, AFloodOfPingsEndsTheConnection) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  for (int i = 0; i < 5000; ++i) nghttp2_submit_ping(client.http2(), 0, nullptr);
  client.flush();
  expect_closed_calmly(client);
}

TEST_F(GrpcServer, AFloodOfAnswersToNoPingEndsTheConnection) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  client.raw().send(times(5000, frame(6, 1, 0, "whatever")));
  expect_closed_calmly(client);
}

TEST_F(GrpcServer, AFloodOfSettingsEndsTheConnection) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  client.raw().send(times(5000, frame(4, 0, 0, "")));
  expect_closed_calmly(client);
}

TEST_F(GrpcServer, AFloodOfCancelledCallsEndsTheConnection) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  bool open = true;
  for (int i = 0; i < 40'000 && open; ++i) {
    const std::int32_t id = client.begin("/t.T/Later", "", /*finish=*/false);
    open = client.flush();
    nghttp2_submit_rst_stream(client.http2(), 0, id, NGHTTP2_CANCEL);
    open = client.flush() && open;
  }
  expect_closed_calmly(client);
}

TEST_F(GrpcServer, AFewThousandCancelledCallsDoNot) {
  GrpcClient& client = start();
  for (int i = 0; i < 3000; ++i) {
    const std::int32_t id = client.begin("/t.T/Echo", "", /*finish=*/false);
    client.flush();
    nghttp2_submit_rst_stream(client.http2(), 0, id, NGHTTP2_CANCEL);
  }
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
}

TEST_F(GrpcServer, AFloodOfPrioritiesEndsTheConnection) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  client.raw().send(times(5000, frame(kPriority, 0, 99, std::string(5, '\0'))));
  expect_closed_calmly(client);
}

TEST_F(GrpcServer, AFloodOfEmptyDataEndsTheConnection) {
  GrpcClient& client = start();
  const std::int32_t id = client.begin("/t.T/Echo", "", /*finish=*/false);
  client.flush();
  client.raw().send(times(5000, frame(kData, 0, static_cast<std::uint32_t>(id), "")));
  expect_closed_calmly(client);
}

TEST_F(GrpcServer, HeadersThatNeverEndEndTheConnection) {
  for (const std::string& more : {std::string(), std::string(1000, 'x')}) {
    GrpcClient& client = server_ == nullptr ? start() : connect();
    EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
    client.raw().send(frame(kHeaders, 0, 99, "") + times(5000, frame(kContinuation, 0, 99, more)));
    expect_closed_calmly(client);
    EXPECT_EQ(connect().call("/t.T/Echo", "x").status(), "0");
  }
}

}  // namespace
}  // namespace weir::grpc
