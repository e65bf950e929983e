// Opening: what a connection goes through before it carries anything: the PROXY protocol's header,
// when the other side is to begin with one, and the handshake of TLS, on either side.
//
// It has no deadline of its own: its owner has, and gives it up by close().
//
// THREADS: the loop's. An open one is kept alive by its loop.

#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ip.h"
#include "net/loop.h"
#include "net/poller.h"
#include "net/transport.h"

namespace weir::net {

class Opening final : public Poller::Watched {
 public:
  enum class Stage : std::uint8_t { kProxyHeader, kTls };

  class Owner {
   public:
    // Called once, or on_open_failed() is, and never before start() has returned. `source`: whom
    // the header names.
    virtual void on_open(Transport transport, const std::optional<IpAddress>& source) = 0;
    virtual void on_open_failed(Stage stage, const std::string& why) = 0;

   protected:
    ~Owner() = default;
  };

  // REQUIRES: there is something to go through. A transport that speaks TLS is taken through its
  // handshake.
  Opening(Loop& loop, Owner& owner, Transport transport, bool proxy_header);

  void start();
  // Gives it up; the owner hears nothing more.
  void close();

 private:
  void on_ready(std::uint32_t events) override;
  void go_on();
  bool read_proxy_header();
  void shake_hands();
  void finish();
  void fail(const std::string& why);

  Poller& poller_;
  Owner* owner_;
  Transport transport_;
  bool header_wanted_;  // what comes next is the header
  bool watched_ = false;
  std::optional<IpAddress> source_;
};

using OpeningPtr = boost::intrusive_ptr<Opening>;

}  // namespace weir::net
