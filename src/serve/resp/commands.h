// Commands: what the RESP listener understands (docs/resp.md), one table.
//
// Wrong names, counts and values are answered with -ERR and charge nothing. Names are read in any
// case. Where a password is set, all but AUTH, HELLO, RESET and QUIT need it.
//
// THREADS: any; a Client belongs to its loop.

#pragma once

#include <span>
#include <string_view>

#include "engine/decision_timer.h"
#include "engine/request_counters.h"
#include "serve/resp/client.h"
#include "serve/resp/server.h"
#include "serve/resp/throttle.h"

namespace weir::resp {

using Arguments = std::span<const std::string_view>;

class Commands {
 public:
  explicit Commands(Services services);

  // Runs one command; its reply goes to client.replies, now or later.
  // REQUIRES: at least one argument. The arguments live until it returns.
  void run(Arguments arguments, Client& client) const;

  Instant now() const { return services_.clock.now(); }
  const engine::DecisionTimer& timer() const { return timer_; }

  // Writes one throttle command's reply, or what stands for it when its store failed.
  void append_throttle(const store::Answer& answer, bool cell, std::string& out) const;
  void append_decision(const engine::Decision& decision, Version version, std::string& out) const;

 private:
  friend struct Table;  // names the members below

  std::string password() const;
  void ask_throttle(const Throttle& asked, bool cell, Client& client) const;

  void cl_throttle(Arguments arguments, Client& client) const;
  void throttle(Arguments arguments, Client& client) const;
  void check(Arguments arguments, Client& client) const;
  void take(Arguments arguments, Client& client) const;

  void ping(Arguments arguments, Client& client) const;
  void echo(Arguments arguments, Client& client) const;
  void hello(Arguments arguments, Client& client) const;
  void auth(Arguments arguments, Client& client) const;
  void select(Arguments arguments, Client& client) const;
  void info(Arguments arguments, Client& client) const;
  void command(Arguments arguments, Client& client) const;
  void client(Arguments arguments, Client& client) const;
  void config(Arguments arguments, Client& client) const;
  void reset(Arguments arguments, Client& client) const;
  void quit(Arguments arguments, Client& client) const;

  bool log_in(std::string_view shown, Client& client) const;
  void refuse(Client& client, std::string_view message) const;

  Services services_;
  engine::RequestCounters requests_;
  engine::DecisionTimer timer_;
};

}  // namespace weir::resp
