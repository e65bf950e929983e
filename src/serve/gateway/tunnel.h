// Tunnel: bytes both ways between two connections, after the upstream has switched protocols.
//
// Each side's end is passed to the other, which may still speak; the tunnel ends with the second.
// A side that does not read holds the other back. Both may be silent for as long as they like (TCP
// keep-alive finds peers that are gone), but once one side has ended, the other must make progress
// within `patience`.
//
// THREADS: the loop's.

#pragma once

#include <functional>

#include "net/connection.h"
#include "net/loop.h"

namespace weir::gateway {

class Tunnel final : public net::Connection::Owner {
 public:
  // `ended` runs when both connections are closed; it must not destroy the tunnel.
  Tunnel(net::Loop& loop, std::function<void()> ended);

  // What the connections have read already goes first.
  void start(net::ConnectionPtr client, net::ConnectionPtr upstream, Duration patience);
  void close();

  void on_input(net::Connection& from) override;
  void on_output(net::Connection& to) override;

 private:
  net::Connection& other(net::Connection& one) {
    return &one == client_.get() ? *upstream_ : *client_;
  }
  void pump(net::Connection& from, net::Connection& to);
  void end();

  net::ConnectionPtr client_;
  net::ConnectionPtr upstream_;
  Duration patience_{0};
  std::function<void()> ended_;
  net::Deadline deadline_;
};

}  // namespace weir::gateway
