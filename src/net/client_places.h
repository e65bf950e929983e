// ClientPlaces: how many connections each client may have open at a time.
//
// A client is an IPv4 address, or an IPv6 network of 64 bits: one subscriber has all of its
// addresses. There is an entry for each client with a connection open, and no other.
//
// THREADS: any; a place is its owner's. Places go before their table.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/ip.h"

namespace weir::net {

class ClientPlaces;

// One connection's place, given back when it is destroyed.
class ClientPlace {
 public:
  ClientPlace() = default;  // of nobody: nothing is counted
  ClientPlace(ClientPlace&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)), client_(other.client_) {}
  ClientPlace& operator=(ClientPlace&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(client_, other.client_);
    return *this;
  }
  ~ClientPlace();

 private:
  friend class ClientPlaces;
  ClientPlace(ClientPlaces& table, const IpAddress& client) : table_(&table), client_(client) {}

  ClientPlaces* table_ = nullptr;
  IpAddress client_;
};

class ClientPlaces {
 public:
  // `most` connections for each; 0: as many as come.
  explicit ClientPlaces(std::size_t most) : most_(most) {}

  // Nothing when the client has as many as it may.
  std::optional<ClientPlace> take(const IpAddress& address);
  std::size_t clients() const;

 private:
  friend class ClientPlace;
  void give_back(const IpAddress& client);

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<std::array<std::uint8_t, 17>, std::size_t> open_;  // by mutex_
};

}  // namespace weir::net
