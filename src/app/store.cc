#include "app/store.h"

#include <future>

#include "app/store_keeper.h"
#include "store/redis/url.h"

namespace weir::app {

Result<OpenedStore> open_store(const policy::Store& settings, net::Loops& loops,
                               metrics::Registry& registry, Instant now) {
  OpenedStore opened;
  if (settings.in_memory()) {
    opened.memory = open_memory(settings, now);
    return opened;
  }
  store::RedisOptions options;
  options.url = settings.url;
  options.timeout = settings.timeout;
  options.connect_timeout = settings.connect_timeout;
  options.deny_cache = settings.deny_cache;
  options.prefix = settings.prefix;
  options.tls = {settings.ca, settings.cert, settings.key, settings.server_name};
  options.registry = &registry;
  auto made = store::RedisStore::make(loops, std::move(options));
  if (!made) return Error{made.error().code, "store: " + made.error().message};
  opened.redis = std::move(*made);
  return opened;
}

std::string connect(store::RedisStore& redis, const policy::Store& settings) {
  // WHY shared: the first answer may come after we have stopped waiting for it.
  const auto answered = std::make_shared<std::promise<void>>();
  redis.on_first_answer([answered] { answered->set_value(); });
  redis.start();
  const auto state = answered->get_future().wait_for(settings.connect_timeout);
  const std::string name = store::redis::masked(settings.url);
  if (state == std::future_status::ready) return "counters in " + name;
  return "counters in " + name + ", which has not answered yet (" + redis.trouble() +
         "): until it does, on_error decides";
}

Result<bool> check_store(const engine::CompiledPolicy& policy) {
  const policy::Store& settings = policy.policy().store;
  if (settings.in_memory()) return true;
  const auto url = store::redis::parse_url(settings.url);
  if (!url) return Error{url.error().code, url.error().message};
  std::optional<Error> found;
  policy.for_each_counter([&](const engine::Counter& counter) {
    if (found) return;
    found = store::RedisStore::check(counter.rule);
    if (found) found->message = "limit " + counter.name + ": " + found->message;
  });
  if (found) return *found;
  return true;
}

}  // namespace weir::app
