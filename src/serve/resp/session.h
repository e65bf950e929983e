// Session: one connection of the RESP listener.
//
// An idle connection holds no buffer: bytes are read into one that all connections of a thread
// share, and only an unfinished command is kept.
//
// THREADS: its loop's. Owns itself: ends by a post to the loop, once no decision is under way.

#pragma once

#include <string>
#include <string_view>

#include "net/server.h"
#include "net/stream.h"
#include "net/timer_wheel.h"
#include "serve/resp/client.h"
#include "serve/resp/commands.h"
#include "serve/resp/server.h"
#include "wire/resp/command.h"

namespace weir::resp {

class Session final : public net::Session, private Client, private net::Stream::Owner {
 public:
  Session(net::Loop& loop, net::SessionSet& sessions, net::Transport transport,
          const Options& options, const Commands& commands);

  void drain() override;
  void abort() override { end(); }

 private:
  void on_reply(Replies::Place place) override;

  void on_readable() override;
  void on_writable() override;
  void read_commands();
  bool read_once();
  void feed(std::string_view arrived);
  std::size_t consume(std::string_view data);
  bool may_consume() const;
  // Whether the connection ends once nothing is left to run or to finish.
  bool leaving() const { return sessions_.draining() && spoken_ && pending_.empty(); }
  bool consume_pending();
  void fail(std::string_view message);

  bool flush();
  void wait_to_write();
  void settle();
  void set_deadline();
  void on_deadline();
  void linger();
  void end();
  void destroy();

  net::Loop& loop_;
  net::SessionSet& sessions_;
  const net::StreamPtr stream_;
  const Options& options_;
  const Commands& commands_;
  net::Deadline deadline_;

  CommandParser parser_;
  std::string pending_;      // the unfinished command, and those that wait for room
  std::size_t sent_ = 0;     // of replies.ready()
  bool in_command_ = false;  // its deadline runs
  bool in_turn_ = false;
  bool wake_posted_ = false;
  bool spoken_ = false;     // something has come
  bool peer_done_ = false;  // it sends no more
  bool lingering_ = false;
  bool writing_ = false;
  bool ended_ = false;
  bool destroying_ = false;
};

}  // namespace weir::resp
