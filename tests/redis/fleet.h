// Several redis-servers that belong together: a Cluster of three primaries with a replica each, and
// a primary with a replica under one Sentinel.
//
// THREADS: one.

#pragma once

#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "redis/certificates.h"
#include "support/redis_server.h"

namespace weir::support {

// For what servers agree on among themselves: seconds, but much longer on a machine that is busy.
inline constexpr std::chrono::seconds kPatience{90};

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

  // `tls`: clients are told of, and nodes speak on, ports that want TLS.
  explicit RedisCluster(bool replicas, const Certificates* tls = nullptr) : tls_(tls != nullptr) {
    for (int i = 0; i < (replicas ? 2 : 1) * kPrimaries; ++i) {
      bus_.push_back(free_port());
      std::vector<std::string> arguments{"--cluster-enabled",
                                         "yes",
                                         "--cluster-port",
                                         std::to_string(bus_.back()),
                                         "--cluster-node-timeout",
                                         "1000",
                                         "--cluster-replica-validity-factor",
                                         "0",
                                         "--cluster-require-full-coverage",
                                         "no",
                                         "--repl-diskless-sync-delay",
                                         "0"};
      ports_.push_back(free_port());
      if (tls_) {
        const auto more = tls->server_arguments(ports_.back());
        arguments.insert(arguments.end(), more.begin(), more.end());
        arguments.insert(arguments.end(), {"--tls-cluster", "yes"});
      }
      nodes_.push_back(std::make_unique<RedisServer>(arguments));
      if (!tls_) ports_.back() = nodes_.back()->port();
    }
    join();
  }

  RedisServer& node(int i) { return *nodes_[static_cast<std::size_t>(i)]; }
  std::string id(int i) {
    RedisClient client(node(i).socket_path());
    return std::string(client({"CLUSTER", "MYID"}).text());
  }

  std::string url() const {
    std::string text = tls_ ? "rediss+cluster://" : "redis+cluster://";
    for (std::size_t i = 0; i < kPrimaries; ++i) {
      if (i > 0) text += ',';
      text += "127.0.0.1:" + std::to_string(ports_[i]);
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
      first({"CLUSTER", "MEET", "127.0.0.1", std::to_string(ports_[i]), std::to_string(bus_[i])});
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

  bool tls_;
  std::vector<int> ports_;  // for clients
  std::vector<int> bus_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

// A primary, a replica of it, and one Sentinel that watches them under the name "mymaster".
class Sentineled {
 public:
  // Where TLS is spoken; for each, the other port is closed to clients of its kind.
  struct Tls {
    const Certificates* certificates = nullptr;
    bool data = false;
    bool sentinel = false;
  };

  Sentineled() : Sentineled(Tls{}) {}
  explicit Sentineled(const Tls& tls)
      : tls_port_(free_port()),
        primary_(arguments(tls, tls_port_, {})),
        data_port_(tls.data ? tls_port_ : primary_.port()),
        replica_(arguments(tls, free_port(),
                           {"--replicaof", "127.0.0.1 " + std::to_string(data_port_)})) {
    port_ = free_port();
    socket_ = replica_.folder() + "/sentinel-socket";
    const std::string file = replica_.folder() + "/sentinel.conf";
    std::ofstream out(file);
    out << (tls.sentinel ? "port 0\ntls-port " : "port ") << port_
        << "\nbind 127.0.0.1\nunixsocket " << socket_ << "\nlogfile " << replica_.folder()
        << "/sentinel.log\n";
    if (tls.certificates != nullptr) {
      out << "tls-cert-file " << tls.certificates->cert() << "\ntls-key-file "
          << tls.certificates->key() << "\ntls-ca-cert-file " << tls.certificates->ca() << '\n';
    }
    if (tls.data) out << "tls-replication yes\n";
    out << "sentinel monitor mymaster 127.0.0.1 " << data_port_ << " 1\n"
        << "sentinel down-after-milliseconds mymaster 500\n"
        << "sentinel failover-timeout mymaster 3000\n";
    out.close();
    std::vector<std::string> words{redis_program(), file, "--sentinel"};
    std::vector<char*> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
    if (posix_spawnp(&pid_, redis_program(), nullptr, nullptr, arguments.data(), environ) != 0) {
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
  std::string url() const { return "redis+sentinel://" + place(); }
  std::string place() const { return "127.0.0.1:" + std::to_string(port_) + "/mymaster"; }

 private:
  static std::vector<std::string> arguments(const Tls& tls, int tls_port,
                                            std::vector<std::string> more) {
    more.insert(more.end(), {"--repl-diskless-sync-delay", "0"});
    if (!tls.data) return more;
    const auto server = tls.certificates->server_arguments(tls_port);
    more.insert(more.end(), server.begin(), server.end());
    more.insert(more.end(), {"--tls-replication", "yes"});
    return more;
  }

  int tls_port_;
  RedisServer primary_;
  int data_port_;
  RedisServer replica_;
  std::string socket_;
  int port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace weir::support
