// Several redis-servers that belong together: a Cluster of three primaries with a replica each, and
// a primary with a replica under one Sentinel.
//
// THREADS: one.

#pragma once

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "support/redis_server.h"

namespace weir::support {

// Waits up to ten seconds until `condition` holds, looking every 10 ms.
template <typename Condition>
bool wait_until(Condition condition, int tries = 1000) {
  for (int i = 0; i < tries; ++i) {
    if (condition()) return true;
    timespec wait{0, 10'000'000};
    nanosleep(&wait, nullptr);
  }
  return false;
}

class RedisCluster {
 public:
  static constexpr int kPrimaries = 3;

  explicit RedisCluster(bool replicas) {
    for (int i = 0; i < (replicas ? 2 : 1) * kPrimaries; ++i) {
      bus_.push_back(free_port());
      nodes_.push_back(std::make_unique<RedisServer>(std::vector<std::string>{
          "--cluster-enabled", "yes", "--cluster-port", std::to_string(bus_.back()),
          "--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0",
          "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0"}));
    }
    join();
  }

  RedisServer& node(int i) { return *nodes_[static_cast<std::size_t>(i)]; }
  std::string id(int i) {
    RedisClient client(node(i).socket_path());
    return std::string(client({"CLUSTER", "MYID"}).text());
  }

  std::string url() const {
    std::string text = "redis+cluster://";
    for (int i = 0; i < kPrimaries; ++i) {
      if (i > 0) text += ',';
      text += "127.0.0.1:" + std::to_string(nodes_[static_cast<std::size_t>(i)]->port());
    }
    return text;
  }

  // Moves a slot with all it holds, key by key, as redis-cli --cluster reshard does.
  void move_slot(int slot, int from, int to) {
    const std::string number = std::to_string(slot);
    const std::string from_id = id(from);
    const std::string to_id = id(to);
    RedisClient source(node(from).socket_path());
    RedisClient target(node(to).socket_path());
    target({"CLUSTER", "SETSLOT", number, "IMPORTING", from_id});
    source({"CLUSTER", "SETSLOT", number, "MIGRATING", to_id});
    while (true) {
      const resp::Reply keys = source({"CLUSTER", "GETKEYSINSLOT", number, "10"});
      std::vector<std::string> names;
      for (resp::Reply key = keys.first(); key.valid(); key = key.next()) {
        names.emplace_back(key.text());
      }
      if (names.empty()) break;
      for (const std::string& name : names) {
        source({"MIGRATE", "127.0.0.1", std::to_string(node(to).port()), name, "0", "1000"});
      }
    }
    target({"CLUSTER", "SETSLOT", number, "NODE", to_id});
    source({"CLUSTER", "SETSLOT", number, "NODE", to_id});
  }

 private:
  void join() {
    RedisClient first(node(0).socket_path());
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      first({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i]->port()),
             std::to_string(bus_[i])});
    }
    for (int i = 0; i < kPrimaries; ++i) {
      RedisClient here(node(i).socket_path());
      here({"CLUSTER", "ADDSLOTSRANGE", std::to_string(16384 * i / kPrimaries),
            std::to_string(16384 * (i + 1) / kPrimaries - 1)});
      here({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    }
    for (std::size_t i = kPrimaries; i < nodes_.size(); ++i) {
      const std::string primary = id(static_cast<int>(i) - kPrimaries);
      RedisClient replica(nodes_[i]->socket_path());
      wait_until([&] { return replica({"CLUSTER", "REPLICATE", primary}).text() == "OK"; });
    }
    for (const auto& node : nodes_) {
      RedisClient here(node->socket_path());
      wait_until([&] {
        const std::string info(here({"CLUSTER", "INFO"}).text());
        return info.find("cluster_state:ok") != std::string::npos &&
               info.find("cluster_known_nodes:" + std::to_string(nodes_.size())) !=
                   std::string::npos;
      });
    }
  }

  std::vector<int> bus_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

// A primary, a replica of it, and one Sentinel that watches them under the name "mymaster".
class Sentineled {
 public:
  Sentineled()
      : primary_({"--repl-diskless-sync-delay", "0"}),
        replica_({"--replicaof", "127.0.0.1 " + std::to_string(primary_.port()),
                  "--repl-diskless-sync-delay", "0"}) {
    port_ = free_port();
    socket_ = replica_.folder() + "/sentinel-socket";
    const std::string file = replica_.folder() + "/sentinel.conf";
    std::ofstream(file) << "port " << port_ << "\nbind 127.0.0.1\nunixsocket " << socket_
                        << "\nlogfile " << replica_.folder() << "/sentinel.log\n"
                        << "sentinel monitor mymaster 127.0.0.1 " << primary_.port() << " 1\n"
                        << "sentinel down-after-milliseconds mymaster 500\n"
                        << "sentinel failover-timeout mymaster 3000\n";
    std::vector<std::string> words{"redis-sentinel", file};
    std::vector<char*> arguments{words[0].data(), words[1].data(), nullptr};
    if (posix_spawnp(&pid_, "redis-sentinel", nullptr, nullptr, arguments.data(), environ) != 0) {
      std::abort();
    }
    wait_until([&] { return RedisClient(socket_).connected(); });
    RedisClient client(socket_);
    wait_until([&] { return client({"SENTINEL", "REPLICAS", "mymaster"}).size() == 1; });
    RedisClient replica(replica_.socket_path());
    wait_until([&] {
      return std::string(replica({"INFO", "replication"}).text()).find("master_link_status:up") !=
             std::string::npos;
    });
  }
  ~Sentineled() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  RedisServer& primary() { return primary_; }
  RedisServer& replica() { return replica_; }
  const std::string& socket_path() const { return socket_; }
  std::string url() const {
    return "redis+sentinel://127.0.0.1:" + std::to_string(port_) + "/mymaster";
  }

 private:
  RedisServer primary_;
  RedisServer replica_;
  std::string socket_;
  int port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace weir::support
