#include "serve/gateway/server_check.h"

#include <algorithm>
#include <utility>

namespace weir::gateway {
namespace {

constexpr std::size_t kMaxInput = 64 * 1024;  // of the answer's head; its body is not read
constexpr std::uint32_t kMaxInterim = 128;    // 1xx before the answer, as in an exchange

std::string request_text(const policy::Upstream& server, const policy::HealthCheck& check) {
  const std::string& host = check.host.empty() ? server.authority : check.host;
  return "GET " + check.path + " HTTP/1.1\r\nHost: " + host +
         "\r\nUser-Agent: weir-check\r\nConnection: close\r\n\r\n";
}

}  // namespace

ServerCheck::ServerCheck(net::Loop& loop, const policy::Upstream& server,
                         const policy::HealthCheck& check, const UpstreamTls& tls,
                         std::shared_ptr<ServerState> state)
    : loop_(loop),
      check_(check),
      request_(request_text(server, check)),
      server_(new Upstream(loop, server, tls)),
      state_(std::move(state)),
      deadline_(loop.timers(), [this] { on_deadline(); }) {
  begin();
}

ServerCheck::~ServerCheck() {
  stop();
}

void ServerCheck::begin() {
  under_way_ = true;
  begun_at_ns_ = loop_.timers().now_ns();
  answer_.reset();
  interim_count_ = 0;
  attempt_ = server_->connect(*this, kMaxInput);
  deadline_.expires_after(check_.timeout);
}

void ServerCheck::stop() {
  deadline_.cancel();
  if (attempt_) attempt_->cancel();
  attempt_.reset();
  if (connection_) connection_->close();
  connection_.reset();
}

void ServerCheck::end(bool passed, std::string_view why) {
  stop();
  under_way_ = false;
  state_->checked(passed, why);
  const Duration spent(loop_.timers().now_ns() - begun_at_ns_);
  deadline_.expires_after(std::max(check_.every - spent, Duration(0)));
}

void ServerCheck::on_deadline() {
  if (!under_way_) return begin();
  end(false, attempt_ ? "no connection in time" : "no answer in time");
}

void ServerCheck::on_connected(net::ConnectionPtr connection) {
  attempt_.reset();
  connection_ = std::move(connection);
  connection_->set_owner(this);
  connection_->output().append(request_);
  connection_->flush();
  connection_->read();
}

void ServerCheck::on_connect_failed(const std::string& why, bool) {
  attempt_.reset();
  end(false, "cannot connect: " + why);
}

void ServerCheck::on_output(net::Connection&) {
  // A request that did not go has no answer: the read tells.
}

void ServerCheck::on_input(net::Connection&) {
  while (true) {
    switch (answer_.parse(connection_->input())) {
      case http1::Progress::kError:
        return end(false, "no HTTP: " + std::string(answer_.error().message));
      case http1::Progress::kNeedMore:
        if (connection_->input_over()) return end(false, "closed without an answer");
        return connection_->read();
      case http1::Progress::kComplete:
        break;
    }
    const int status = answer_.head().status;
    if (!answer_.head().is_interim()) {
      return end(status >= 200 && status < 400, "answered " + std::to_string(status));
    }
    if (++interim_count_ > kMaxInterim) {
      return end(false, "sends interim responses (1xx) without end");
    }
    connection_->consume(answer_.consumed());
    answer_.reset();
  }
}

}  // namespace weir::gateway
