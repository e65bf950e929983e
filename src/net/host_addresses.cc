#include "net/host_addresses.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>

namespace weir::net {
namespace {

constexpr std::size_t kMaxAddresses = 64;

}  // namespace

HostAddresses::HostAddresses(Loop& loop, std::string host, std::uint16_t port)
    : loop_(loop),
      host_(std::move(host)),
      port_(port),
      resolver_(loop.executor()),
      self_(std::make_shared<HostAddresses*>(this)) {
  SystemError error;
  const auto address = asio::ip::make_address(host_, error);
  if (error) return;
  literal_ = true;
  known_.emplace_back(address, port_);
}

HostAddresses::~HostAddresses() {
  *self_ = nullptr;
}

void HostAddresses::look_up_if_old() {
  const bool old = !literal_ && loop_.timers().now_ns() >= renew_at_ns_;
  if (old && !looking_up_) start_lookup();
}

bool HostAddresses::has_peer(int fd) {
  look_up_if_old();
  if (!moved_) return true;
  Endpoint peer;
  auto size = static_cast<socklen_t>(peer.capacity());
  if (::getpeername(fd, peer.data(), &size) != 0) return true;
  return std::find(known_.begin(), known_.end(), peer) != known_.end();
}

void HostAddresses::get(Ready ready) {
  look_up_if_old();
  if (known_.empty()) {
    waiting_.push_back(std::move(ready));
    return;
  }
  ready(known_);
}

void HostAddresses::start_lookup() {
  looking_up_ = true;
  resolver_.async_resolve(
      host_, std::to_string(port_), asio::ip::resolver_base::numeric_service,
      [self = self_](const SystemError& error, const TcpResolver::results_type& results) {
        if (*self == nullptr) return;
        std::vector<Endpoint> found;
        for (const auto& entry : results) {
          if (found.size() < kMaxAddresses) found.push_back(entry.endpoint());
        }
        (*self)->finish_lookup(error, std::move(found));
      });
}

void HostAddresses::finish_lookup(const SystemError& error, std::vector<Endpoint> found) {
  looking_up_ = false;
  renew_at_ns_ = loop_.timers().now_ns() + kFresh.count();
  if (!error && !found.empty()) {
    moved_ |= !known_.empty() &&
              !std::is_permutation(known_.begin(), known_.end(), found.begin(), found.end());
    known_ = std::move(found);
  }
  const std::vector<Ready> waiting = std::exchange(waiting_, {});
  if (!known_.empty()) {
    const Result<std::vector<Endpoint>> answer(known_);
    for (const Ready& ready : waiting) ready(answer);
    return;
  }
  renew_at_ns_ = 0;  // ask again at the next request
  const Result<std::vector<Endpoint>> failure(
      Error{ErrorCode::kUnavailable, "cannot resolve " + host_ + ": " + error.message()});
  for (const Ready& ready : waiting) ready(failure);
}

}  // namespace weir::net
