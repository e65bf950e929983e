// RemotePlace: the name of a policy that is kept in etcd or Redis.
//
//   etcd://[user:password@]host[:2379],.../weir/policy[?...]    the key is /weir/policy
//   etcds://                                                    the same over TLS
//   redis://[user:password@]host[:6379][/db]/key[?...]          and rediss://, redis+sentinel://,
//                                                               redis+cluster:// as in store.url
//   ?ca=FILE&cert=FILE&key=FILE&server_name=NAME                of TLS, as in `store`
//
// A key that ends in .toml holds TOML, any other YAML.
//
// THREADS: plain values.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "policy/load.h"
#include "store/redis/tls.h"
#include "store/redis/url.h"
#include "weir/result.h"

namespace weir::app {

struct RemotePlace {
  enum class Kind { kEtcd, kRedis };

  Kind kind = Kind::kEtcd;
  store::redis::Url url;                   // of etcd: addresses, user and password
  std::shared_ptr<store::redis::Tls> tls;  // null: none
  std::string key;
  std::string shown;  // without its password
  policy::Format format = policy::Format::kYaml;
};

// Nothing for the name of a file. ERRORS: kInvalid, naming the part that is wrong.
Result<std::optional<RemotePlace>> parse_remote_place(std::string_view text);

}  // namespace weir::app
