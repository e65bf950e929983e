// Exchange: one admitted request on its way to an upstream, and the response on its way back.
//
// Both bodies flow at once, each held back by its receiver; an upstream may answer before it has
// read the request. Interim responses (1xx) are passed on; 101 ends the exchange in a tunnel.
//
// An idle connection may turn out to have been closed by the upstream meanwhile. Before any byte of
// a response, the request is then sent again, once, on a fresh connection, if nothing of it can
// have been sent, or if it is idempotent (RFC 9110 section 9.2.2: GET, HEAD, OPTIONS, TRACE, PUT,
// DELETE) and none of its body has been taken from the client. Requests of other methods go out on
// connections that the kernel just called open and silent. Nothing else is ever sent twice. Where
// no connection comes about, the other servers of the group are tried, each once.
//
// THREADS: the loop's. Kept by its session and used for one request after the other.

#pragma once

#include <string>
#include <string_view>

#include "net/connection.h"
#include "policy/policy.h"
#include "serve/gateway/body_relay.h"
#include "serve/gateway/upstream.h"
#include "serve/gateway/upstream_group.h"
#include "wire/http1/response.h"

namespace weir::gateway {

// Why a request has no response of its upstream's.
struct Failure {
  int status = 502;
  std::string_view code;
  std::string message;
};

// What an exchange must know of the request beside its bytes.
struct RequestTraits {
  http1::Body body;
  bool to_head = false;
  bool idempotent = false;
  bool client_is_1_0 = false;
  bool keep_alive = true;  // the client's connection, as far as the request is concerned
  bool expect_continue = false;
  bool upgrade = false;
  bool plain_frames = false;  // of WebSocket: the upstream may agree on no extension
};

class Exchange final : public net::Connection::Owner, public ConnectAttempt::Owner {
 public:
  class Owner {
   public:
    // The response begins, of which this is the head; whether the client's connection must end with
    // it, as it must while the listener drains.
    virtual bool begin_response(const http1::ResponseHead& head) = 0;
    // The response has been written. `keep`: the connection may serve another request.
    virtual void on_response_done(bool keep) = 0;
    // Nothing has been written: the owner answers.
    virtual void on_failure(const Failure& failure) = 0;
    // The client is gone, or its response has been cut short: only a reset tells it the truth.
    virtual void on_broken() = 0;
    virtual void on_tunnel(net::ConnectionPtr upstream) = 0;

   protected:
    ~Owner() = default;
  };

  Exchange(net::Loop& loop, net::Connection& client, const http1::Limits& limits, Owner& owner);

  // To be filled before start(): the head for the upstream, and the header lines to add for the
  // client.
  std::string& head() { return head_; }
  std::string& rate_headers() { return rate_headers_; }

  // REQUIRES: no request is under way.
  void start(const RequestTraits& traits, Choice target, const policy::GatewayTimeouts& timeouts);
  void on_client_input();
  void on_client_output();
  // Gives the upstream up at once.
  void stop();

  // What of the request's body is still to come from the client.
  BodyRelay& request_body() { return request_body_; }
  // How much of the response's body has come; of the last one, once it is over.
  std::uint64_t response_bytes() const { return response_body_.payload(); }
  bool to_head() const { return traits_.to_head; }

  void on_input(net::Connection& upstream) override;
  void on_output(net::Connection& upstream) override;
  void on_connected(net::ConnectionPtr connection) override;
  void on_connect_failed(const std::string& why, bool resolved) override;

 private:
  void send(bool fresh);
  void begin_on(net::ConnectionPtr connection);
  void pump_request();
  void pump_response();
  bool read_head();
  bool take_head();
  void pass_interim();
  void begin_response();
  void switch_protocols();
  bool may_switch() const;
  void finish();
  void upstream_lost();
  bool may_repeat() const;
  bool awaits_continue() const;
  bool rest_is_uncertain() const;
  void fail(int status, std::string_view code, std::string message);
  void blame(int status, std::string_view code, std::string_view what);
  void break_off();
  void arm();
  void on_deadline();
  void on_connect_timeout();

  net::Connection& client_;
  Owner& owner_;
  RequestTraits traits_;
  policy::GatewayTimeouts timeouts_;
  std::string head_;
  std::string rate_headers_;

  Choice target_;
  ConnectAttemptPtr attempt_;
  net::ConnectionPtr upstream_;
  http1::ResponseParser response_;
  BodyRelay request_body_;
  BodyRelay response_body_;

  std::uint32_t interim_count_ = 0;
  bool active_ = false;
  bool reused_ = false;          // the connection has served another request before
  bool head_sent_ = false;       // some byte of the request may have reached the upstream
  bool response_begun_ = false;  // its final head has gone to the client
  bool interim_passed_ = false;
  bool continue_passed_ = false;  // among them 100: the client sends its body
  bool close_client_ = false;     // said so in the response
  bool upstream_keeps_ = false;   // its connection may be used again
  net::Deadline deadline_;
};

}  // namespace weir::gateway
