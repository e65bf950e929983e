// Listeners: the listeners that the policy in force names, opened at the start and brought in line
// with every policy after it.
//
// A listener whose address stays keeps its connections. One whose address changes is opened anew
// before the old one closes, which then finishes what is in flight; so is one that is to speak TLS
// or the PROXY protocol, or has other bounds, on the sockets that it has. A section that a policy
// leaves out keeps its listener until the next start (reload_changes.h).
//
// THREADS: one thread's, not a loop's.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/drain.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "engine/adhoc.h"
#include "engine/engine.h"
#include "net/inherited_sockets.h"
#include "net/loop.h"
#include "net/server.h"
#include "policy/policy.h"
#include "serve/gateway/upstream_board.h"
#include "serve/grpc/rate_limiter.h"
#include "serve/http/message.h"
#include "weir/result.h"

namespace weir::app {

// How long what is in flight has to finish.
Duration drain_time(const policy::Policy& policy);

class Listeners {
  struct Listener;

 public:
  // Listeners that a policy wants and that were not open; they serve nothing until they are taken.
  struct Opened {
    Opened();
    ~Opened();
    std::vector<std::unique_ptr<Listener>> listeners;
  };
  // What listeners work on. All outlive them.
  struct Services {
    net::Loops& loops;
    engine::Engine& engine;
    engine::Adhoc& adhoc;
    const Clock& clock;
    metrics::Registry& registry;
    http::AsyncHandler admin;  // what the admin listener answers by
  };

  explicit Listeners(Services services);
  // REQUIRES: the loops are stopped, or were never started.
  ~Listeners();

  // Sockets that listen already, for the next open(), which says which of them nobody wants.
  void inherit(net::InheritedSockets sockets) { inherited_ = std::move(sockets); }
  // The certificates of what is open are those of this policy from here on.
  // ERRORS: what a listener's address, certificates or access log refuse, by name; then nothing is
  // open that was not before, and what is open is as it was.
  Result<std::unique_ptr<Opened>> open(const policy::Policy& policy);
  // Serves by them, and ends those whose place they take.
  void take(std::unique_ptr<Opened> opened, const policy::Policy& policy);

  // How many each listener has open, by its name. THREADS: any.
  std::vector<std::pair<std::string, std::size_t>> connections() const;

  // Reads the certificates again that the policy names for what is open.
  // ERRORS: kInvalid, naming the file; what was in force stays, everywhere.
  Result<bool> load_certificates(const policy::Policy& policy);

  // Opens log files again, for whoever has moved them away.
  void reopen_logs();

  // Copies of all listening sockets, for a process that is to take over. THREADS: any.
  std::vector<FileDescriptor> share_sockets() const;
  // It has. THREADS: any.
  void set_handed_over();

  // One line a listener.
  void print(const policy::Policy& policy) const;
  // Ends all within `within`, the admin listener last, so that what is drained can be watched.
  void drain(Duration within);

 private:
  enum class Kind : std::uint8_t;

  // What puts the certificates that were read in force.
  using Certificates = std::vector<std::function<void()>>;

  Result<Certificates> read_certificates(const policy::Policy& policy);
  Result<std::unique_ptr<Listener>> open_one(Kind kind, const policy::Listener& section);
  Result<std::unique_ptr<net::Server>> open_server(Kind kind, net::ListenOptions options);
  net::ListenOptions options_of(Kind kind, const policy::Listener& section);
  void warn_of_unwanted_sockets();
  Listener* find(Kind kind) const;
  void retire(std::unique_ptr<Listener> listener, Duration within);

  Services services_;
  mutable std::mutex mutex_;  // held where open_ changes, and where another thread reads it
  grpc::RateLimiter rate_limiter_;
  gateway::UpstreamBoard upstreams_;
  net::InheritedSockets inherited_;
  std::vector<std::unique_ptr<Listener>> open_;     // in the order in which they are printed
  std::vector<std::unique_ptr<Listener>> retired_;  // whose place another took
};

}  // namespace weir::app
