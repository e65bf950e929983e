// StreamHub: who watches: connections that are sent what is published, as server-sent events.
//
// At most kMaxWatchers; one that does not read what it is sent is left once kMaxUnsent bytes wait
// for it. What a watcher sends is thrown away.
//
// THREADS: add() on the connection's loop; publish() from any.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/http/message.h"

namespace weir::admin {

class Watcher;  // stream.cc

class StreamHub {
 public:
  static constexpr std::size_t kMaxWatchers = 32;
  static constexpr std::size_t kMaxUnsent = 4u << 20;

  StreamHub() = default;
  StreamHub(const StreamHub&) = delete;
  StreamHub& operator=(const StreamHub&) = delete;

  // Answers a request by what is published from now on, after `first`; 503 when all places are
  // taken. REQUIRES: the hub outlives the loops' threads.
  void add(http::Response& response, std::string first);

  // An event's data: one line of text. Cheap where nobody watches.
  void publish(const std::string& data);
  std::size_t watchers() const { return count_.load(std::memory_order_relaxed); }

 private:
  friend class Watcher;
  void join(net::Loop& loop, Watcher& watcher);
  void leave(net::Loop& loop, Watcher& watcher);

  // The watchers of one loop, touched on it alone.
  struct Place {
    net::Loop* loop;
    std::vector<Watcher*> watchers;
  };
  Place& place_of(net::Loop& loop);

  std::atomic<std::size_t> count_{0};  // relaxed: a bound
  std::mutex mutex_;                   // of the list of places
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace weir::admin
