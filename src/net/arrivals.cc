#include "net/arrivals.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "net/loop.h"
#include "net/opening.h"
#include "net/timer_wheel.h"

namespace weir::net {
namespace {

constexpr Duration kBetweenWarnings = std::chrono::minutes(1);

struct QueueTag;
using QueueHook = boost::intrusive::list_base_hook<boost::intrusive::tag<QueueTag>>;

}  // namespace

// One connection on its way. Owns itself: ends by a post to the loop.
class Arrivals::Arrival final : public Session, public QueueHook, private Opening::Owner {
 public:
  Arrival(Arrivals& arrivals, Transport transport, const IpAddress& peer);

  void start() { opening_->start(); }
  // It goes on while the listener drains: what its client asks for is on the way already.
  void drain() override {}
  void abort() override { end(); }
  // Turns the connection away.
  void give_up(const metrics::Counter& counter, const std::string& why);

 private:
  void on_open(Transport transport, const std::optional<IpAddress>& source) override;
  void on_open_failed(Opening::Stage stage, const std::string& why) override;
  void end();

  Arrivals& arrivals_;
  const IpAddress peer_;
  const OpeningPtr opening_;
  Deadline deadline_;
  bool ended_ = false;
};

struct Arrivals::Queue {
  boost::intrusive::list<Arrival, boost::intrusive::base_hook<QueueHook>> list;
};

Arrivals::Arrival::Arrival(Arrivals& arrivals, Transport transport, const IpAddress& peer)
    : arrivals_(arrivals),
      peer_(peer),
      opening_(
          new Opening(arrivals.loop_, *this, std::move(transport), arrivals.options_.proxy_header)),
      deadline_(arrivals.loop_.timers(), [this] {
        give_up(arrivals_.options_.counters.timeout, "it did not begin in time");
      }) {
  arrivals_.sessions_.add(*this);
  arrivals_.queue_->list.push_back(*this);
  deadline_.expires_after(arrivals_.options_.timeout);
}

void Arrivals::Arrival::on_open(Transport transport, const std::optional<IpAddress>& source) {
  arrivals_.ready_(std::move(transport), source.value_or(peer_));
  end();
}

void Arrivals::Arrival::on_open_failed(Opening::Stage stage, const std::string& why) {
  const auto& counters = arrivals_.options_.counters;
  const bool header = stage == Opening::Stage::kProxyHeader;
  give_up(header ? counters.proxy_header : counters.tls,
          (header ? "PROXY protocol: " : "TLS: ") + why);
}

void Arrivals::Arrival::give_up(const metrics::Counter& counter, const std::string& why) {
  counter.add();
  arrivals_.warn(peer_, why);
  end();
}

void Arrivals::Arrival::end() {
  if (ended_) return;
  ended_ = true;
  deadline_.cancel();
  opening_->close();
  arrivals_.queue_->list.erase(arrivals_.queue_->list.iterator_to(*this));
  arrivals_.sessions_.remove(*this);
  arrivals_.loop_.post([self = std::unique_ptr<Arrival>(this)] {});
}

Arrivals::Arrivals(Loop& loop, SessionSet& sessions, const ArrivalOptions& options, Ready ready)
    : loop_(loop),
      sessions_(sessions),
      options_(options),
      ready_(std::move(ready)),
      queue_(std::make_unique<Queue>()) {}

Arrivals::~Arrivals() = default;

void Arrivals::take(Transport transport, const IpAddress& peer) {
  if (options_.tls != nullptr) {
    auto tls = options_.tls->accept(transport.fd());
    if (!tls) return;
    transport.speak(std::move(tls));
  }
  auto* arrival = new Arrival(*this, std::move(transport), peer);  // owns itself
  arrival->start();
  if (queue_->list.size() > options_.most) {
    queue_->list.front().give_up(options_.counters.flood,
                                 "more connections begin than may at a time");
  }
}

std::size_t Arrivals::size() const {
  return queue_->list.size();
}

// An operator sees what is wrong, and a flood does not fill the log.
void Arrivals::warn(const IpAddress& peer, const std::string& why) {
  const std::int64_t now = loop_.timers().now_ns();
  if (now < warn_again_at_ns_) return;
  warn_again_at_ns_ = now + kBetweenWarnings.count();
  log::warning(options_.name + ": a connection of " + peer.to_string() + " is closed: " + why +
               " (told once a minute; weir_connections_refused_total counts them)");
}

}  // namespace weir::net
