// Arrivals: connections that a listener has accepted and that still have to show who they are (the
// PROXY protocol's header) or to agree on TLS.
//
// One that takes longer than `timeout` is closed. There are at most `most` at a time on a loop:
// when one more comes, the oldest is closed. WHY not the newest: a flood of connections that say
// nothing would keep everybody out for as long as the timeout; this way who does answer is served.
//
// THREADS: its loop's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "net/session.h"
#include "net/tls_server.h"
#include "net/transport.h"
#include "weir/time.h"

namespace weir::net {

class Loop;

struct ArrivalOptions {
  std::string name;                // of the listener, for log lines
  bool proxy_header = false;       // each begins with one
  const TlsServer* tls = nullptr;  // null: none is spoken
  std::size_t most = 512;
  Duration timeout = std::chrono::seconds(10);

  // What is counted of those that are turned away.
  struct Counters {
    metrics::Counter proxy_header;
    metrics::Counter tls;
    metrics::Counter timeout;
    metrics::Counter flood;
  } counters;
};

class Arrivals {
 public:
  // `peer` is whom the header names, else the other end.
  using Ready = std::function<void(Transport transport, const IpAddress& peer)>;

  // Each counts as a session while it is on its way.
  // REQUIRES: options outlive it; the sessions are ended before it is destroyed.
  Arrivals(Loop& loop, SessionSet& sessions, const ArrivalOptions& options, Ready ready);
  ~Arrivals();

  void take(Transport transport, const IpAddress& peer);
  // Says why a connection is closed; once a minute at most.
  void warn(const IpAddress& peer, const std::string& why);
  std::size_t size() const;

 private:
  class Arrival;
  struct Queue;

  Loop& loop_;
  SessionSet& sessions_;
  const ArrivalOptions& options_;
  const Ready ready_;
  const std::unique_ptr<Queue> queue_;  // the oldest first
  std::int64_t warn_again_at_ns_ = 0;
};

}  // namespace weir::net
