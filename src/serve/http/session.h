// Session: one connection of the small HTTP server.
//
// An idle connection holds no buffer: bytes are read into one that all connections of a thread
// share. Kept are only an unfinished request and, if it is short, the head of the last one:
// programs send the same again, and what was found in it then holds.
//
// THREADS: its loop's. Owns itself: ends by a post to the loop.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/server.h"
#include "net/stream.h"
#include "net/timer_wheel.h"
#include "serve/http/message.h"
#include "serve/http/server.h"
#include "wire/http1/chunked.h"
#include "wire/http1/request.h"

namespace weir::http {

class Session final : public net::Session, private net::Stream::Owner {
 public:
  Session(net::Loop& loop, net::SessionSet& sessions, net::Transport transport,
          const IpAddress& peer, const Options& options, const AsyncHandler& handler);

  void drain() override;
  void abort() override { end(); }

 private:
  void on_readable() override;
  void on_writable() override;
  void read_requests();
  bool read_once();
  void feed(std::string_view arrived);
  std::size_t consume(std::string_view data);
  std::size_t consume_request(std::string_view data);
  http1::Progress parse(std::string_view data);
  std::size_t consume_body(std::string_view data, std::size_t head_size, std::string_view& body);
  std::size_t consume_chunked(std::string_view data, std::size_t head_size, std::string_view& body);
  void allow_body(const http1::RequestHead& head, bool body_begun);
  void ask(const http1::RequestHead& head, std::string_view body);
  void on_answer();
  void append_response(const Response& response, bool head_only);
  void read_clock();
  void fail(int status, std::string_view message);
  void switch_protocols(Response& response);
  void hand_over();

  bool flush();
  void wait_to_write();
  void settle();
  bool consume_pending();
  void wait_for_answer();
  void set_read_deadline();
  void linger();
  void discard();
  void on_deadline();
  void end();
  void destroy();

  bool idle() const { return pending_.empty() && (!known_head_.empty() || !parser_.begun()); }

  net::Loop& loop_;
  net::SessionSet& sessions_;
  const net::StreamPtr stream_;
  const Options& options_;
  const AsyncHandler& handler_;
  const IpAddress peer_;
  net::Deadline deadline_;

  http1::RequestParser parser_;
  http1::ChunkedDecoder chunks_;
  std::string known_head_;              // of the request before, while parser_ still tells it
  std::string pending_;                 // the unfinished request
  std::string body_;                    // of a chunked request, decoded
  std::size_t body_used_ = 0;           // bytes of the chunked body that are decoded
  std::string out_;                     // answers
  std::size_t sent_ = 0;                // of out_
  Upgrade upgrade_;                     // after what is in out_
  bool continue_sent_ = false;          // 100 Continue, for the request at hand
  bool closing_ = false;                // after what is in out_
  bool peer_done_ = false;              // it sends no more
  std::optional<Instant> at_;           // when the requests at hand were read
  std::unique_ptr<Response> response_;  // to the request at hand
  bool keep_alive_ = true;              // what it wants of the connection
  bool head_only_ = false;              // it was a HEAD
  bool client_is_1_0_ = false;          // it came by HTTP/1.0
  bool asking_ = false;                 // inside the handler's call
  bool answering_ = false;              // the handler has yet to answer
  bool in_request_ = false;             // its deadline runs
  bool lingering_ = false;
  bool writing_ = false;  // waits for the peer to read
  bool ended_ = false;
};

}  // namespace weir::http
