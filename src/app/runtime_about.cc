// What a Runtime tells of itself through its admin listener.

#include <cstdio>

#include "app/runtime.h"
#include "app/version.h"
#include "engine/compiled_policy.h"
#include "store/redis/url.h"

namespace weir::app {
namespace {

// What this process holds in memory; 0 where the kernel does not say.
std::uint64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long long total = 0;
  unsigned long long resident = 0;
  const int read = std::fscanf(file, "%llu %llu", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * 4096 : 0;
}

}  // namespace

admin::About Runtime::about() const {
  admin::About about;
  about.version = version();
  about.readiness = [this] { return readiness(); };
  about.store = [this] { return store_state(); };
  about.connections = [this] { return listeners_->connections(); };
  about.inside = [this] { return inside(); };
  return about;
}

admin::StoreState Runtime::store_state() const {
  const auto current = engine_->current();
  const policy::Store& settings = current->policy().store;
  admin::StoreState state;
  if (store_.memory) {
    state.kind = "memory";
    state.keys = store_.memory->keys();
    state.max_keys = settings.max_keys;
    state.evictions = store_.memory->evictions();
    return state;
  }
  state.kind = store::redis::masked(settings.url);
  state.up = store_.redis->up();
  state.trouble = store_.redis->trouble();
  return state;
}

// A limit's tiers, overrides and pairs of numbers have counters of their own
// (engine/compiled_policy).
std::map<std::string, std::uint64_t> Runtime::keys_by_limit() const {
  std::map<std::string, std::uint64_t> keys;
  for (const auto& [counter, count] : store_.memory->keys_by_counter()) {
    keys[counter.substr(0, counter.find_first_of("@#"))] += count;
  }
  return keys;
}

std::vector<std::pair<std::string, std::uint64_t>> Runtime::inside() const {
  std::vector<std::pair<std::string, std::uint64_t>> figures = {
      {"resident_bytes", resident_bytes()},
      {"loops", loops_.size()},
      {"limits", engine_->current()->limits().size()},
  };
  for (const auto& [listener, count] : listeners_->connections()) {
    figures.emplace_back("connections_" + listener, count);
  }
  if (store_.memory) {
    figures.emplace_back("store_keys", store_.memory->keys());
    figures.emplace_back("store_evictions", store_.memory->evictions());
    figures.emplace_back("store_marks", store_.memory->marks());
    figures.emplace_back("store_rules", store_.memory->rules());
  }
  return figures;
}

}  // namespace weir::app
