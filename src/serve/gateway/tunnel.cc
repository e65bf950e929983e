#include "serve/gateway/tunnel.h"

#include <utility>

#include "serve/gateway/keep_alive.h"

namespace weir::gateway {
namespace {

constexpr std::size_t kBound = 64 * 1024;  // unsent bytes at which the other side is held back

}  // namespace

Tunnel::Tunnel(net::Loop& loop, std::function<void()> ended)
    : ended_(std::move(ended)), deadline_(loop.timers(), [this] { end(); }) {}

void Tunnel::start(net::ConnectionPtr client, net::ConnectionPtr upstream, Duration patience) {
  client_ = std::move(client);
  upstream_ = std::move(upstream);
  patience_ = patience;
  keep_alive(*client_);
  keep_alive(*upstream_);
  client_->set_owner(this);
  upstream_->set_owner(this);
  pump(*upstream_, *client_);
  if (client_) pump(*client_, *upstream_);
}

void Tunnel::on_input(net::Connection& from) {
  pump(from, other(from));
}

void Tunnel::on_output(net::Connection& to) {
  pump(other(to), to);
}

void Tunnel::pump(net::Connection& from, net::Connection& to) {
  if (to.unsent() < kBound && !from.input().empty()) {
    to.output().append(from.input());
    from.consume(from.input().size());
    to.flush();
  }
  if (from.input_failed() || to.output_failed()) return end();
  if (from.input_ended() && from.input().empty()) to.end_output();
  const bool one_ended = client_->input_ended() || upstream_->input_ended();
  const bool both_ended = client_->input_ended() && upstream_->input_ended();
  if (both_ended && client_->unsent() == 0 && upstream_->unsent() == 0 &&
      client_->input().empty() && upstream_->input().empty()) {
    return end();
  }
  if (one_ended) deadline_.expires_after(patience_);
  if (to.unsent() < kBound) from.read();
}

void Tunnel::close() {
  deadline_.cancel();
  if (!client_) return;
  client_->close();
  upstream_->close();
  client_.reset();
  upstream_.reset();
}

void Tunnel::end() {
  if (!client_) return;
  close();
  ended_();
}

}  // namespace weir::gateway
