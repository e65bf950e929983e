// Session: one HTTP/2 connection of the gRPC server. libnghttp2 keeps the protocol; this class
// moves bytes between it and the socket, and calls between it and the methods.
//
// All calls that one read brought are answered by one write. An idle connection holds no buffer of
// ours: bytes are read into and gathered in ones that all connections of a thread share.
//
// THREADS: its loop's. Owns itself: ends by a post to the loop.

#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/server.h"
#include "net/stream.h"
#include "net/timer_wheel.h"
#include "serve/grpc/method.h"
#include "serve/grpc/server.h"
#include "serve/grpc/stream.h"

struct nghttp2_session;

namespace weir::grpc {

struct SessionCallbacks;

class Session final : public net::Session, private net::Stream::Owner {
 public:
  Session(net::Loop& loop, net::SessionSet& sessions, net::Transport transport,
          const Options& options, const Methods& methods);
  ~Session() override;

  void drain() override;
  void abort() override { end(); }

  // For Reply: each does nothing when the call is gone.
  void send_message(std::int32_t stream, std::string_view message);
  void end_call(std::int32_t stream, Stream::Fault outcome);
  // Sends what replies have left, now or at the end of the turn.
  void wake();

 private:
  friend struct SessionCallbacks;
  using Streams = boost::intrusive::list<Stream, boost::intrusive::constant_time_size<true>>;

  void on_readable() override;
  void on_writable() override;
  bool read_once();
  void feed(std::string_view bytes);
  void refuse_other_protocol();

  Stream* find(std::int32_t id);
  void begin_stream(std::int32_t id);
  void close_stream(Stream& stream);
  void on_headers(Stream& stream);
  void on_data(Stream& stream, std::string_view data);
  void on_request_end(Stream& stream);
  void hand_over(Stream& stream);
  void finish(Stream& stream, Stream::Fault outcome);
  void answer(Stream& stream);
  void submit_trailers(Stream& stream);
  void submitted(Stream& stream, bool taken);
  bool spend_idle_frame();
  void on_greeting();
  void announce_end();
  void on_ping_ack();

  bool flush();
  std::size_t send(std::string_view bytes);
  bool gather(std::string& out);
  void settle();
  std::optional<std::int64_t> receiving_since() const;
  void set_deadline();
  void on_deadline();
  void end_of_silence();
  void end();

  net::Loop& loop_;
  net::SessionSet& sessions_;
  const net::StreamPtr stream_;
  const Options& options_;
  const Methods& methods_;
  const StreamLimits limits_;
  net::Deadline deadline_;
  const std::shared_ptr<SessionHandle> handle_;
  nghttp2_session* http2_ = nullptr;

  Streams streams_;
  std::int32_t found_id_ = 0;  // the stream that find() was asked for last, and what it said
  Stream* found_ = nullptr;
  std::size_t buffered_ = 0;  // bytes of unfinished messages
  std::size_t unsent_ = 0;    // bytes of messages that wait in their streams
  std::string unsent_bytes_;  // what the socket did not take
  double idle_frames_ = 0;    // what is left of the budget
  std::int64_t idle_frames_at_ = 0;
  bool greeted_ = false;  // the client has said something in HTTP/2
  bool in_turn_ = false;
  bool wake_posted_ = false;
  bool writing_ = false;  // waits for the peer to read
  bool closing_ = false;  // after what is to be sent
  bool ended_ = false;
};

}  // namespace weir::grpc
