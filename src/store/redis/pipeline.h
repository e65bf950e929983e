// Pipeline: the calls of one connection, in the order in which they were sent and are answered.
// Bytes in, bytes out, no socket.
//
// Every call ends exactly once: with its reply; at its deadline, after which its reply, should it
// still come, is read over; or when the connection ends. What was never handed to the socket can
// not have run, and says so.
//
// THREADS: one loop. A callback may add calls, and must not destroy the pipeline.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "wire/resp/reply.h"

namespace weir::store::redis {

// How a call ended.
enum class Ending : std::uint8_t {
  kReply,
  kTimeout,      // sent, and no reply in time: it may have run, or may yet run
  kLost,         // sent, and the connection ended: it may have run
  kUnsent,       // never sent
  kUnreachable,  // not even tried: the node is known to be down, or too many calls wait
};

struct Outcome {
  Ending ending = Ending::kUnsent;
  const resp::Reply* reply = nullptr;  // kReply; lives while the callback runs
};

using OnOutcome = std::function<void(const Outcome&)>;

class Pipeline {
 public:
  static constexpr std::size_t kMaxCalls = 16384;
  static constexpr std::int64_t kNever = INT64_MAX;

  bool full() const { return calls_.size() >= kMaxCalls; }
  // Adds a call. `skip`: replies that go before its own, of commands in front of it (ASKING).
  void add(std::string_view bytes, unsigned skip, std::int64_t deadline_ns, OnOutcome done);
  // Adds a PING with a text of its own. An answer with another text, in time or late, shows that
  // answers no longer go with their calls: receive() then fails.
  void add_probe(std::int64_t deadline_ns);

  bool has_output() const { return !out_.empty(); }
  std::size_t output_size() const { return out_.size(); }
  // All that is to be sent; it counts as sent from now on. Swapped, so that `out` lends its memory.
  void take_output(std::string& out);

  // Takes bytes off the wire. False: they make no sense, and the connection is to be ended; see
  // error(). Out-of-band messages (RESP3) go to `push`.
  bool receive(std::string_view bytes);
  const std::string& error() const { return error_; }
  std::function<void(const resp::Reply&)> push;
  // Told of every call that somebody waits for, before its callback.
  std::function<void(const Outcome&)> observe;

  // Ends what has waited too long.
  void expire(std::int64_t now_ns);
  // The first of the calls that still wait. Cheap while calls are added with ascending deadlines;
  // one that waits longer (a refund, a heartbeat) has all of them looked through until it has gone.
  std::int64_t next_deadline() const;
  // Ends everything: the connection is gone.
  void end_all();

  // Calls that were sent and not answered, those that have timed out included.
  std::size_t unanswered() const { return sent_; }
  std::size_t waiting() const { return calls_.size(); }

 private:
  struct Call {
    OnOutcome done;  // empty: nobody waits any more
    std::int64_t deadline_ns = kNever;
    std::uint32_t bytes = 0;  // in out_, until it is sent
    unsigned skip = 0;
    std::uint32_t probe = 0;  // the text of a probe; 0: none
  };

  bool take_reply(const resp::Reply& reply);
  void finish(OnOutcome& done, Outcome outcome);

  std::deque<Call> calls_;
  std::size_t sent_ = 0;        // the first of calls_
  std::int64_t latest_ns_ = 0;  // deadline of any of calls_
  bool ascending_ = true;       // the deadlines of calls_
  std::string out_;
  std::string in_;
  std::string error_;
  std::uint32_t probes_ = 0;
  resp::ReplyParser parser_;
};

}  // namespace weir::store::redis
