// What the gateway's tests share: a gateway on a free port in front of a listener that the test
// itself plays, with raw sockets on both ends. Tests only.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/metrics.h"
#include "engine/engine.h"
#include "net/listening_socket.h"
#include "serve/gateway/gateway.h"
#include "store/memory/memory_store.h"
#include "support/raw_client.h"

namespace weir::gateway {

using testing::RawClient;

inline const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
inline const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class GatewayTest : public ::testing::Test {
 protected:
  GatewayTest() {
    auto listening = net::listen_on({"127.0.0.1", 0}, 1);
    upstream_port_ = listening->port;
    listener_ = std::move(listening->sockets[0]);
    make_patient(listener_.get());
    policy_.gateway.emplace();
    policy_.gateway->listen = {"127.0.0.1", 0};
    policy_.gateway->upstream.servers = {upstream("127.0.0.1", upstream_port_)};
  }

  ~GatewayTest() override { loops_.stop(); }

  static policy::Upstream upstream(std::string host, std::uint16_t port) {
    policy::Upstream target;
    target.address = {std::move(host), port};
    target.authority = target.address.to_string();
    return target;
  }

  // accept() waits on it as long as reads wait.
  static void make_patient(int listener);

  // A limit on everybody together, whose bucket does not refill while a test runs.
  void limit_all(std::uint64_t burst) {
    policy::Limit limit;
    limit.name = "all";
    limit.numbers = {TokenBucket{Rate{1, std::chrono::hours(1)}, burst}};
    policy_.limits.push_back(limit);
  }

  net::ListenOptions listen_options() const {
    net::ListenOptions options;
    options.name = "gateway";
    options.listen = {policy_.gateway->listen.host, policy_.gateway->listen.port};
    return options;
  }

  // Puts policy_ in force and starts the gateway.
  void start() { start(engine_); }
  void start(engine::Engine& engine) {
    const auto installed = engine.install(policy_);
    ASSERT_TRUE(installed) << installed.error().message;
    auto opened = Gateway::open(loops_, listen_options(), engine, clock_, registry_, board_);
    ASSERT_TRUE(opened) << opened.error().message;
    gateway_ = std::move(*opened);
    gateway_->start();
    loops_.start();
  }

  RawClient client() { return RawClient(gateway_->port()); }
  RawClient accept() {
    return RawClient(
        RawClient::Accepted{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)});
  }
  struct Ends {
    RawClient client;
    RawClient upstream;
  };
  // An exchange that is under way: the request has reached the upstream, which has not answered.
  Ends begun(const std::string& request = kGet) {
    RawClient one = client();
    one.send(request);
    RawClient upstream = accept();
    upstream.read_until("\r\n\r\n");
    return {std::move(one), std::move(upstream)};
  }
  // Whether no connection of the gateway's waits to be accepted.
  bool nobody_connects() {
    pollfd waiting{listener_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 0;
  }
  void stop_upstream() { FileDescriptor closed = std::move(listener_); }

  // One exchange on connections of the test's: the request as the upstream gets it.
  static std::string exchange(RawClient& client, RawClient& upstream, const std::string& request,
                              const std::string& response) {
    client.send(request);
    const std::string head = upstream.read_until("\r\n\r\n");
    upstream.send(response);
    return head;
  }

  std::uint64_t metric(const std::string& name) {
    const std::string text = registry_.to_text();
    const auto at = text.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 2));
  }

  policy::Policy policy_;
  FileDescriptor listener_;
  std::uint16_t upstream_port_ = 0;
  store::MemoryStore store_;
  engine::Engine engine_{store_};
  SystemClock clock_;
  metrics::Registry registry_;
  net::Loops loops_{1};
  UpstreamBoard board_{loops_, registry_};
  std::unique_ptr<Gateway> gateway_;
};

inline void GatewayTest::make_patient(int listener) {
  const timeval patience{5, 0};
  ::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const int flags = ::fcntl(listener, F_GETFL);
  ::fcntl(listener, F_SETFL, flags & ~O_NONBLOCK);
}

// The status of a response's first line.
inline int status_of(const std::string& response) {
  return response.size() > 12 ? std::stoi(response.substr(9, 3)) : 0;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string body_of(const std::string& response) {
  const auto at = response.find("\r\n\r\n");
  return at == std::string::npos ? "" : response.substr(at + 4);
}

}  // namespace weir::gateway
