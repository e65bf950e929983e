#include "net/client_places.h"

#include <algorithm>
#include <array>

namespace weir::net {
namespace {

constexpr unsigned kIpv6Bits = 64;

std::array<std::uint8_t, 17> key_of(const IpAddress& client) {
  std::array<std::uint8_t, 17> key{};
  std::copy(client.bytes().begin(), client.bytes().end(), key.begin());
  key[16] = client.is_v4();
  return key;
}

}  // namespace

ClientPlace::~ClientPlace() {
  if (table_ != nullptr) table_->give_back(client_);
}

std::optional<ClientPlace> ClientPlaces::take(const IpAddress& address) {
  if (most_ == 0) return ClientPlace();
  const IpAddress client = address.is_v4() ? address : address.masked(kIpv6Bits);
  const std::lock_guard lock(mutex_);
  std::size_t& open = open_[key_of(client)];
  if (open >= most_) return std::nullopt;
  ++open;
  return ClientPlace(*this, client);
}

void ClientPlaces::give_back(const IpAddress& client) {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(key_of(client));
  if (at != open_.end() && --at->second == 0) open_.erase(at);
}

std::size_t ClientPlaces::clients() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

}  // namespace weir::net
