// EtcdClient: etcd through its JSON gateway, over HTTP/1.1.
//
// Calls go to one endpoint after the other until one answers; where a user is given, a token is
// asked for first and again when it is refused. Every call ends within its deadline.
//
// THREADS: one loop.

#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "store/redis/tls.h"
#include "store/redis/url.h"
#include "weir/result.h"

namespace weir::app {

class EtcdExchange;

class EtcdClient {
 public:
  struct Options {
    std::vector<store::redis::Address> endpoints;  // at least one
    std::string user;                              // empty: none
    std::string password;
    std::shared_ptr<store::redis::Tls> tls;  // null: none
  };
  using Done = std::function<void(Result<boost::json::object> answer)>;

  EtcdClient(net::Loop& loop, Options options);
  ~EtcdClient();
  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;

  // POST `path` ("/v3/kv/range"). ERRORS: kUnavailable: no endpoint answers; kInvalid: etcd says
  // so.
  void call(std::string path, boost::json::object body, Done done);

  // Watches `key` and all keys that begin with it, from `revision` on: runs `changed` at each
  // change, and `ended`, once, when the watch is over, for whatever reason. One at a time.
  void watch(const std::string& key, std::int64_t revision, std::function<void()> changed,
             std::function<void(const std::string& reason)> ended);

 private:
  struct Asked;

  void attempt(std::shared_ptr<Asked> asked);
  void authenticate(std::shared_ptr<Asked> asked);
  void take(const std::shared_ptr<Asked>& asked, int status, const std::string& error,
            const boost::json::object& answer);
  std::string request(const std::string& path, const boost::json::object& body) const;
  const store::redis::Address& endpoint() const { return options_.endpoints[current_]; }

  net::Loop& loop_;
  const Options options_;
  std::size_t current_ = 0;  // the endpoint in use
  std::string token_;
  std::shared_ptr<EtcdExchange> watch_;
  // Under way, each until its time is up. WHY: one holds itself by what it waits for.
  std::vector<std::weak_ptr<EtcdExchange>> calls_;
  // Callbacks that outlive this see that it is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir::app
