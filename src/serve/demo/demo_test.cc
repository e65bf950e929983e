// The demo service over real sockets: what it answers, and how its WebSocket ends.

#include <gtest/gtest.h>

#include "serve/demo/server.h"
#include "support/raw_client.h"
#include "wire/websocket/frame.h"

namespace weir::demo {
namespace {

using testing::RawClient;
using websocket::Opcode;

constexpr websocket::MaskKey kKey = {1, 2, 3, 4};

std::string masked(Opcode opcode, std::string_view payload, bool fin = true) {
  std::string out;
  websocket::append_masked_frame(out, opcode, payload, kKey);
  if (!fin) out[0] = static_cast<char>(out[0] & 0x7f);
  return out;
}

std::string plain(Opcode opcode, std::string_view payload) {
  std::string out;
  websocket::append_frame(out, opcode, payload);
  return out;
}

class Demo : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open(loops_, {"127.0.0.1", 0});
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    server_->start();
    loops_.start();
  }
  void TearDown() override { loops_.stop(); }

  RawClient& connect() {
    clients_.push_back(std::make_unique<RawClient>(server_->port()));
    return *clients_.back();
  }

  // `behind` is sent in one go with the handshake.
  RawClient& connect_websocket(std::string_view behind = {}) {
    RawClient& client = connect();
    client.send(
        "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
        std::string(behind));
    const std::string head = client.read_until("\r\n\r\n");
    EXPECT_EQ(head,
              "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
    return client;
  }

  void expect(RawClient& client, const std::string& bytes) {
    EXPECT_EQ(client.read_exactly(bytes.size()), bytes);
  }

  net::Loops loops_{1};
  std::unique_ptr<net::Server> server_;
  std::vector<std::unique_ptr<RawClient>> clients_;
};

std::string body_of(const std::string& response) {
  return response.substr(response.find("\r\n\r\n") + 4);
}

TEST_F(Demo, SaysWhatItGot) {
  RawClient& client = connect();
  client.send(
      "POST /a/b?x=1 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: \"2\"\r\n"
      "Content-Length: 3\r\n\r\nabc");
  EXPECT_EQ(body_of(client.read_response()),
            "{\"method\":\"POST\",\"path\":\"/a/b\",\"query\":\"x=1\",\"headers\":{\"host\":\"h\","
            "\"x-a\":\"1, \\\"2\\\"\",\"content-length\":\"3\"},\"body_size\":3}\n");
}

TEST_F(Demo, CountsAChunkedBodyAndKeepsTheConnection) {
  RawClient& client = connect();
  client.send(
      "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(client.read_response().find("\"body_size\":5}"), std::string::npos);
  EXPECT_NE(client.read_response().find("\"path\":\"/next\""), std::string::npos);
}

TEST_F(Demo, AnswersHeadWithoutABody) {
  RawClient& client = connect();
  client.send("HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string all = client.read_all();
  EXPECT_NE(all.find("Content-Length: "), std::string::npos);
  EXPECT_EQ(body_of(all), "");
}

TEST_F(Demo, TellsAPlainRequestToUpgrade) {
  RawClient& client = connect();
  client.send("GET /ws HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string response = client.read_response();
  EXPECT_EQ(response.substr(0, 13), "HTTP/1.1 426 ");
  EXPECT_NE(response.find("Upgrade: websocket\r\n"), std::string::npos);
}

TEST_F(Demo, EchoesMessagesWhole) {
  RawClient& client = connect_websocket(masked(Opcode::kText, "first"));
  expect(client, plain(Opcode::kText, "first"));
  client.send(masked(Opcode::kBinary, "ab", false) + masked(Opcode::kPing, "p") +
              masked(Opcode::kContinuation, "cd"));
  expect(client, plain(Opcode::kPong, "p") + plain(Opcode::kBinary, "abcd"));
}

TEST_F(Demo, EchoesMessagesThatAreLargerThanItsBuffers) {
  RawClient& client = connect_websocket();
  const std::string large(1024 * 1024, 'x');
  client.send(masked(Opcode::kText, large));
  client.send(masked(Opcode::kText, "after"));
  expect(client, plain(Opcode::kText, large) + plain(Opcode::kText, "after"));
}

TEST_F(Demo, AnswersACloseWithItsCodeAndEnds) {
  RawClient& client = connect_websocket();
  client.send(masked(Opcode::kClose, "\x03\xe8"));
  EXPECT_EQ(client.read_all(), plain(Opcode::kClose, "\x03\xe8"));
}

TEST_F(Demo, ClosesAfterAViolationWithItsCode) {
  RawClient& client = connect_websocket();
  client.send(plain(Opcode::kText, "not masked"));
  EXPECT_EQ(client.read_all().substr(2, 2), "\x03\xea");  // 1002
  RawClient& other = connect_websocket();
  other.send(masked(Opcode::kText, "\xff"));
  EXPECT_EQ(other.read_all().substr(2, 2), "\x03\xef");  // 1007
}

TEST_F(Demo, SaysGoodbyeToWebSocketsWhenDrained) {
  RawClient& client = connect_websocket();
  server_->drain(std::chrono::seconds(5), [] {});
  EXPECT_EQ(client.read_until("stops").substr(2, 2), "\x03\xe9");  // 1001
  client.send(masked(Opcode::kClose, "\x03\xe9"));
  EXPECT_TRUE(client.at_end());
}

}  // namespace
}  // namespace weir::demo
