// The store that a policy names, opened.

#pragma once

#include <memory>
#include <string>

#include "base/metrics.h"
#include "engine/compiled_policy.h"
#include "net/loop.h"
#include "policy/policy.h"
#include "store/memory/memory_store.h"
#include "store/redis/redis_store.h"
#include "weir/result.h"

namespace weir::app {

// One of the two is not null.
struct OpenedStore {
  std::unique_ptr<store::MemoryStore> memory;
  std::unique_ptr<store::RedisStore> redis;

  store::Store& store() const {
    return memory ? static_cast<store::Store&>(*memory) : static_cast<store::Store&>(*redis);
  }
};

// A memory store has the counters of its snapshot. REQUIRES: loops and registry outlive the store.
// ERRORS: kInvalid: the URL or a TLS file.
Result<OpenedStore> open_store(const policy::Store& settings, net::Loops& loops,
                               metrics::Registry& registry, Instant now);

// Begins to connect, and waits for the first answer, at most `connect_timeout`. What to tell the
// operator of it. REQUIRES: the loops run.
std::string connect(store::RedisStore& redis, const policy::Store& settings);

// Whether the store that the policy names can be one, and can hold its numbers; asks no server.
// ERRORS: kInvalid, naming the key or the limit.
Result<bool> check_store(const engine::CompiledPolicy& policy);

}  // namespace weir::app
