// MessageTunnel: a WebSocket connection whose messages are limited, after the upstream has switched
// protocols (docs/websocket.md).
//
// From the client, messages are gathered, read and decided one after the other; pings and pongs
// pass at once, also while the store is asked or a message is held. What is admitted goes on as one
// frame, masked by the client's own key; what is refused is answered in its place. From the
// upstream, bytes pass as they are, with answers put between messages.
//
//   a message   gathering -> deciding [-> held] -> passed or dropped
//   too long    gathering -> deciding -> passed or dropped, the rest as it comes
//
// Bounds: a message up to max_inspect and one read's bytes; answers and what a slow peer has not
// taken, 64 KiB each before the other side is held back.
//
// THREADS: the loop's. WHY counted: the store may answer after the connection has ended.

#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/message.h"
#include "net/connection.h"
#include "net/loop.h"
#include "serve/gateway/watched_request.h"
#include "serve/gateway/worker.h"
#include "wire/websocket/frame_tracker.h"
#include "wire/websocket/reader.h"

namespace weir::gateway {

class MessageTunnel final
    : public net::Connection::Owner,
      public boost::intrusive_ref_counter<MessageTunnel, boost::thread_unsafe_counter> {
 public:
  // `ended` runs when both connections are closed, unless close() closed them.
  MessageTunnel(Worker& worker, std::unique_ptr<WatchedRequest> request,
                std::function<void()> ended);

  // What the connections have read already goes first. `patience`: how long a side may make no
  // progress once the other has ended.
  void start(net::ConnectionPtr client, net::ConnectionPtr upstream, Duration patience);
  void close();
  // Ends the connection with 1001 on both sides, after a message that is being decided or held.
  void leave();

  void on_input(net::Connection& from) override;
  void on_output(net::Connection& to) override;

 private:
  enum class Phase : std::uint8_t {
    kReading,   // the client's messages
    kDeciding,  // the engine is asked about the message in text_
    kHeld,      // it is admitted, and delayed by a leaky bucket
    kClosing,   // both sides have been told why; waits for them to go
    kClosed,
  };
  // What becomes of the pieces of the message that arrives. A connection stays one whose messages
  // are looked into when a reload takes its limits away: they all pass.
  enum class Fate : std::uint8_t { kGathered, kPassed, kDropped };

  // message_tunnel.cc: both directions, and the end
  void pump();
  void pump_once();
  void take_from_upstream();
  std::size_t trackable(std::string_view bytes);
  void pass_ends();
  bool over() const;
  void close_both(websocket::CloseCode to_client, std::string_view reason,
                  websocket::CloseCode to_upstream);
  void finish_closing();
  void end();

  // message_intake.cc: what the client sends
  void take_from_client();
  bool may_take() const;
  bool limited();
  void take(const websocket::Event& event);
  void take_piece(const websocket::Event& event);
  void read_message();
  void take_too_long(const websocket::Event& event);
  void decide();
  void on_decision(const engine::Decision& decision);
  void hold(Duration delay);
  void pass_message();
  void end_message(Fate rest);
  void refuse(const engine::Decision& decision);
  void refuse_unreadable(std::string_view why);
  void answer(std::string_view text);
  void pass_close(const websocket::Event& event);

  Worker& worker_;
  const std::unique_ptr<WatchedRequest> request_;
  engine::Message message_;
  std::function<void()> ended_;
  net::ConnectionPtr client_;
  net::ConnectionPtr upstream_;
  Duration patience_{0};

  Phase phase_ = Phase::kReading;
  bool pumping_ = false;
  bool pump_again_ = false;
  bool leaving_ = false;

  // From the client.
  websocket::Reader reader_;
  bool in_message_ = false;
  Fate fate_ = Fate::kGathered;
  bool limited_ = true;  // under the policy of generation_
  std::uint64_t generation_ = 0;
  std::string gathered_;      // of the message that arrives, or waits
  std::string_view text_;     // the message that is decided; in gathered_ where it waits
  bool text_is_all_ = false;  // else more of it is to come
  websocket::Opcode opcode_ = websocket::Opcode::kText;
  websocket::MaskKey mask_{};
  std::uint32_t refused_ = 0;   // in a row
  bool client_closed_ = false;  // has sent a close frame; nothing behind it counts
  std::optional<net::SteadyTimer> delay_;

  // To the client.
  websocket::FrameTracker to_client_;
  bool to_client_ended_ = false;  // the upstream has ended, and the client has been told
  std::string answers_;           // whole frames that wait for the end of a message
  std::string farewell_;          // a close frame that waits for the end of a frame
  net::Deadline deadline_;
};

using MessageTunnelPtr = boost::intrusive_ptr<MessageTunnel>;

}  // namespace weir::gateway
