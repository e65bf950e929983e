// Session: one client's connection to the gateway.
//
//   head -> identity -> decision -> refusal, or exchange with an upstream -> next head
//
// Requests are answered in their order; those that wait in the buffer are decided as their turn
// comes. Refusals of one batch are written together.
//
// A body that nobody wants is read past up to a bound, so that the next request begins where it
// does; a longer one, or one that an unmet Expect leaves uncertain, ends the connection: the answer
// says so, our side is closed, and what still comes is read away for a while, since closing at once
// would reset the connection before the client has read the answer. That while begins when all has
// gone: until then the answer is a body on its way, and a client that takes none of it for
// timeouts.body is reset.
//
// A client that closes its side while it waits is taken to be gone, as nginx takes it: the upstream
// is given up at once.
//
// THREADS: the loop's.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/answer.h"
#include "net/connection.h"
#include "net/session.h"
#include "serve/gateway/access_entry.h"
#include "serve/gateway/account.h"
#include "serve/gateway/exchange.h"
#include "serve/gateway/local_answer.h"
#include "serve/gateway/message_tunnel.h"
#include "serve/gateway/request_facts.h"
#include "serve/gateway/tunnel.h"
#include "serve/gateway/worker.h"
#include "wire/http1/request.h"

namespace weir::gateway {

class Session final : public net::Session, public net::Connection::Owner, public Exchange::Owner {
 public:
  // Owns itself from here to the end of the connection.
  static void start(Worker& worker, net::SessionSet& sessions, net::Transport transport,
                    const IpAddress& peer);

  // net::Session
  void drain() override;
  void abort() override;

  // net::Connection::Owner
  void on_input(net::Connection& client) override;
  void on_output(net::Connection& client) override;

  // Exchange::Owner
  bool begin_response(const http1::ResponseHead& head) override;
  void on_response_done(bool keep) override;
  void on_failure(const Failure& failure) override;
  void on_broken() override;
  void on_tunnel(net::ConnectionPtr upstream) override;

 private:
  // What the access log says of a client that left before its answer began, as nginx does.
  static constexpr int kClientGone = 499;

  enum class State : std::uint8_t {
    kHead,      // waits for a request, or reads its head
    kDeciding,  // the store is asked; the head stays where it is
    kHeld,      // admitted, and delayed by a leaky bucket
    kExchange,  // an upstream is at work
    kReadPast,  // answered; the rest of the body goes nowhere
    kLinger,    // our side ends; once all has gone, reads until the client closes its own
    kTunnel,
    kClosed,
  };

  Session(Worker& worker, net::SessionSet& sessions, net::Transport transport,
          const IpAddress& peer, const policy::Gateway& settings);

  // session.cc: the connection
  void advance();
  bool step();
  void read_past();
  void await_input();
  Duration idle_time() const;
  Duration linger_time();
  void linger();
  void end_with_client();
  void end();
  void destroy();
  void on_deadline();
  void next_request();
  void leave_tunnel();

  // request.cc: one request
  void handle_request();
  void refuse_head(int status, std::string_view code, std::string_view message);
  std::string_view name_request(const policy::Policy& policy);
  std::string_view append_request_id(std::string_view believed);
  void on_decision(const engine::Decision& decision);
  void refuse(const engine::Decision& decision);
  void admit(const engine::CompiledPolicy& policy);
  Result<bool> watch(const engine::CompiledPolicy& policy);
  void refuse_admitted(int status, std::string_view code, std::string_view message);
  void go_on(Duration delay);
  void give_up();
  void hold(Duration delay);
  void begin_exchange();
  void leave_head();
  void answer(const LocalAnswer& answer);
  void answer_fault(int status, std::string_view code, std::string_view message, bool close);
  bool rest_can_be_read_past() const;
  void begin_access(const policy::Policy& policy, Instant now);
  void end_access(int status, std::uint64_t bytes, bool early = false);
  void end_answered_access();

  Worker& worker_;
  net::SessionSet& sessions_;
  const IpAddress peer_;
  const std::string peer_text_;
  net::ConnectionPtr client_;
  http1::RequestParser parser_;
  policy::PathBuffer path_buffer_;
  policy::GatewayTimeouts timeouts_;

  std::optional<RequestFacts> facts_;  // while the store is asked
  std::int64_t asked_at_ = 0;          // for the timer
  engine::AnswerHeaders rate_headers_;
  std::string own_headers_;  // for an answer of ours to this request
  // Of this request, or the last one while its response is on its way; where there is an access
  // log.
  std::unique_ptr<AccessEntry> access_;
  RequestTraits traits_;
  Account account_;
  UpstreamGroupPtr group_;  // of the request that is admitted
  Exchange exchange_;
  Tunnel tunnel_;
  std::unique_ptr<WatchedRequest> watched_;  // of a handshake whose messages are limited
  MessageTunnelPtr messages_;                // in place of tunnel_, where they are
  BodyRelay unwanted_;                       // the body of a request that was answered here
  std::string nowhere_;
  std::optional<net::SteadyTimer> delay_;

  State state_ = State::kHead;
  bool advancing_ = false;
  bool counted_ = false;              // the admitted request, in the metrics
  bool held_back_ = false;            // requests wait, since too many answers do
  bool head_timed_ = false;           // the deadline is the one of the head being read
  bool close_after_ = false;          // the answer said that the connection ends
  std::int64_t linger_until_ns_ = 0;  // 0: something is still to go, or nothing ends
  net::Deadline deadline_;
};

}  // namespace weir::gateway
