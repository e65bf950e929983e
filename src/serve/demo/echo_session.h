// EchoSession: a WebSocket connection that gets back what it sends, message for message.
//
// Pings are answered, closes are answered, violations end with the code that they deserve. Nothing
// is read while more than kMaxUnsent bytes wait for the peer. A silent peer is pinged and, still
// silent, left.
//
// THREADS: its loop's. Owns itself: ends by a post to the loop.

#pragma once

#include <string>

#include "net/loop.h"
#include "net/session.h"
#include "net/stream.h"
#include "wire/websocket/reader.h"

namespace weir::demo {

class EchoSession final : public net::Session, private net::Stream::Owner {
 public:
  // `rest` are bytes that arrived behind the handshake.
  EchoSession(net::Loop& loop, net::SessionSet& sessions, net::StreamPtr stream, std::string rest);

  void drain() override;
  void abort() override { end(); }

 private:
  bool take_pending();
  bool take_event(const websocket::Event& event);
  void take_message(const websocket::Event& event);
  void close(websocket::CloseCode code, std::string_view reason);

  void go_on();
  bool flush();
  void on_readable() override;
  void on_writable() override;
  void on_deadline();
  void end();

  net::Loop& loop_;
  net::SessionSet& sessions_;
  const net::StreamPtr stream_;
  net::Deadline deadline_;
  websocket::Reader reader_{websocket::Sender::kClient};
  std::string pending_;          // bytes not yet understood
  std::string message_;          // the one being received
  std::string out_;              // what waits to be sent
  std::size_t sent_ = 0;         // of out_
  bool pinged_ = false;          // since the peer last said something
  bool close_sent_ = false;      // nothing is sent behind it
  bool close_received_ = false;  // nor read
  bool shut_down_ = false;
  bool writing_ = false;  // waits for the peer to read
  bool ended_ = false;
};

}  // namespace weir::demo
