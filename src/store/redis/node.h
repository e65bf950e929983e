// Node: one server as one loop sees it. Keeps one connection up, speaks for all calls over it, and
// knows whether it is worth asking.
//
//   state       event                        next
//   waiting     backoff over                 connecting
//   connecting  connected                    greeting
//   connecting  error, connect_timeout       waiting
//   greeting    handshake done               ready
//   greeting    error, refusal, timeout      waiting
//   ready       end, not RESP, silence       waiting
//   any         close()                      closed
//
// Calls made before it is ready wait for that, until their deadline; none is ever sent twice. The
// calls of one turn of the loop go out together at its end, or once 2 KiB of them wait, so that the
// server works on the first while the last are still being written. While the breaker is open
// (breaker.h) calls end at once, and the node pings the server or dials it, until it answers.
//
// WHY one connection: it saturates a Redis (242k decisions/s), and keeps calls in order.
//
// THREADS: one loop. Held by shared_ptr, since callbacks of the socket outlive close().

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/loop.h"
#include "net/poller.h"
#include "store/redis/breaker.h"
#include "store/redis/handshake.h"
#include "store/redis/pipeline.h"
#include "store/redis/stream.h"

namespace weir::store::redis {

class Node : public std::enable_shared_from_this<Node> {
 public:
  struct Options {
    Address address;
    std::shared_ptr<Tls> tls;
    Handshake::Options handshake;
    Duration timeout = std::chrono::milliseconds(20);  // of a ping
    Duration connect_timeout = std::chrono::seconds(1);
  };
  struct Events {
    std::function<void()> on_ready;  // at each new connection
    // The breaker has opened, or closed; `reason` for the former.
    std::function<void(bool up, const std::string& reason)> on_change;
    // While the breaker is open: why the first connection since ended, or was not made.
    std::function<void(const std::string& reason)> on_explained;
    // The connection has ended, or was not made.
    std::function<void(const std::string& reason)> on_lost;
    std::function<void(const resp::Reply&)> on_push;
  };

  Node(net::Loop& loop, Options options, Events events);

  void start();
  // `done` may run before this returns. See Pipeline::add().
  void call(std::string_view bytes, unsigned skip, std::int64_t deadline_ns, OnOutcome done);
  // Ends the connection and dials anew. Not from within an outcome or an event: post it.
  void reconnect(const std::string& reason) { lost(reason); }
  // Ends everything; no event and no outcome comes after it, but those of waiting calls.
  void close();

  const Address& address() const { return options_.address; }
  bool ready() const { return state_ == State::kReady; }
  bool available() const { return !breaker_.open(); }
  bool resp3() const { return handshake_ && handshake_->resp3(); }
  bool is_replica() const { return handshake_ && handshake_->is_replica(); }
  bool idle() const { return pipeline_.waiting() == 0; }

 private:
  enum class State : std::uint8_t { kIdle, kWaiting, kConnecting, kGreeting, kReady, kClosed };

  // Writes at the end of the loop's turn. Holds the node while that is to come.
  struct Writer final : net::Poller::Watched {
    void on_ready(std::uint32_t) override;
    std::shared_ptr<Node> wanted_by;
  };

  static constexpr std::size_t kEnoughToWrite = 2048;
  static constexpr Duration kProbeEvery = std::chrono::milliseconds(200);

  void dial();
  void greet();
  void become_ready();
  void lost(const std::string& reason);
  void read();
  void receive(std::string_view bytes);
  void receive_greeting(std::string_view bytes);
  void wake_writer();
  void flush();
  void write();
  void arm(Duration wait, void (Node::*then)());
  void on_connect_timeout();
  const char* hint() const;
  void probe();
  void arm_deadline();
  void on_deadline();
  void observe(const Outcome& outcome);
  void count_failure(const std::string& reason);
  void count_success();
  bool silent_for_too_long() const;

  net::Loop& loop_;
  const Options options_;
  Events events_;
  State state_ = State::kIdle;
  std::shared_ptr<Stream> stream_;
  std::optional<Handshake> handshake_;
  resp::ReplyParser greeting_parser_;
  std::string greeting_;
  Pipeline pipeline_;
  Breaker breaker_;
  Backoff backoff_;
  std::string writing_;
  bool is_writing_ = false;
  bool asked_ = false;  // a call was made since the last probe
  boost::intrusive_ptr<Writer> writer_;
  std::int64_t armed_ns_ = Pipeline::kNever;  // of deadline_timer_
  std::int64_t heard_ns_ = 0;                 // when the server last said anything
  std::string last_error_;
  bool explained_ = false;
  std::array<char, 32 * 1024> buffer_;
  net::SteadyTimer timer_;
  net::SteadyTimer deadline_timer_;
};

}  // namespace weir::store::redis
