// What tests of limited WebSocket connections share: frames to and from raw sockets on both ends of
// a gateway. Tests only.

#pragma once

#include <string>
#include <string_view>

#include "engine/test_request.h"
#include "support/gateway_fixture.h"
#include "wire/websocket/frame.h"
#include "wire/websocket/handshake.h"

namespace weir::gateway {

using websocket::Opcode;

inline constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";
inline constexpr websocket::MaskKey kMask{0x37, 0xfa, 0x21, 0x3d};

struct Frame {
  Opcode opcode = Opcode::kText;
  bool fin = true;
  std::string payload;

  friend bool operator==(const Frame&, const Frame&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Frame& frame) {
  return out << "opcode " << static_cast<int>(frame.opcode) << (frame.fin ? " fin " : " ")
             << frame.payload.substr(0, 200);
}

class WebSocketTest : public GatewayTest {
 protected:
  // Limits messages of kind "query", everybody together; refills one in five hours.
  policy::Limit& limit_queries(std::uint64_t burst) {
    policy::Limit limit = engine::limit("query", engine::bucket(burst, std::chrono::hours(5)));
    limit.match = engine::match({{"message", {"query"}}});
    return policy_.limits.emplace_back(limit);
  }

  static std::string handshake(const std::string& more = "") {
    return "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
           std::string(kKey) + "\r\n" + more + "\r\n";
  }
  static std::string switched(const std::string& more = "") {
    std::string head = "HTTP/1.1 101 Switching Protocols\r\n";
    websocket::append_handshake_headers(head, kKey);
    return head + more + "\r\n";
  }
  // The way from a handshake that has been sent to an open WebSocket; the head that the upstream
  // got.
  static std::string open(RawClient& client, RawClient& upstream) {
    std::string head = upstream.read_until("\r\n\r\n");
    upstream.send(switched());
    EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 101);
    return head;
  }

  // Both ends of a WebSocket that is open.
  Ends opened() {
    RawClient one = client();
    one.send(handshake());
    RawClient upstream = accept();
    open(one, upstream);
    return {std::move(one), std::move(upstream)};
  }

  static std::string from_client(Opcode opcode, std::string_view payload, bool fin = true) {
    std::string out;
    websocket::append_masked_frame(out, opcode, payload, kMask, fin);
    return out;
  }
  static std::string from_server(Opcode opcode, std::string_view payload, bool fin = true) {
    std::string out;
    websocket::FrameHeader header;
    header.opcode = opcode;
    header.fin = fin;
    header.length = payload.size();
    websocket::append_frame_header(out, header);
    return out.append(payload);
  }
  static std::string text(std::string_view payload) { return from_client(Opcode::kText, payload); }
  static std::string query(int id) {
    return text(R"({"type":"query","request_id":)" + std::to_string(id) + "}");
  }

  // The next frame that `reader` gets of `sender`; opcode kContinuation and no payload at the end.
  static Frame next(RawClient& reader, websocket::Sender sender) {
    std::string head = reader.read_exactly(2);
    websocket::FrameRead read;
    while ((read = websocket::read_frame_header(head, sender)).kind ==
           websocket::FrameRead::Kind::kNeedMore) {
      const std::string more = reader.read_exactly(1);
      if (more.empty()) return {Opcode::kContinuation, false, ""};
      head += more;
    }
    if (read.kind == websocket::FrameRead::Kind::kViolation) {
      ADD_FAILURE() << read.violation.message;
      return {Opcode::kContinuation, false, ""};
    }
    std::string payload = reader.read_exactly(read.header.length);
    if (read.header.masked) websocket::apply_mask(payload, read.header.mask, 0);
    return {read.header.opcode, read.header.fin, std::move(payload)};
  }
  static Frame at_upstream(RawClient& upstream) {
    return next(upstream, websocket::Sender::kClient);
  }
  static Frame at_client(RawClient& client) { return next(client, websocket::Sender::kServer); }

  static Frame sent(std::string payload) { return {Opcode::kText, true, std::move(payload)}; }
  static Frame closing(unsigned code, std::string_view reason = "") {
    return {Opcode::kClose, true,
            websocket::close_payload(static_cast<websocket::CloseCode>(code), reason)};
  }
  // The refusal of a query, whose bucket refills in five hours.
  static Frame refused(int id) {
    return sent(R"({"type":"error","code":"RATE_LIMITED","request_id":)" + std::to_string(id) +
                R"(,"message":"rate limited, retry after 18000s","retry_after":18000})");
  }
};

}  // namespace weir::gateway
