// One key of one limit, found by their names, as callers of the APIs name them.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/compiled_policy.h"
#include "weir/result.h"

namespace weir::engine {

struct NamedKey {
  const CompiledLimit* limit = nullptr;
  const CompiledPolicy* policy = nullptr;
  std::vector<std::string> keys;  // at least one: each way in which the values can be read

  // The numbers that count this key, for a request that says nothing of itself.
  const CounterSet& counters(std::string_view key) const;
};

// ERRORS: kNotFound, kInvalid, with what there is. REQUIRES: the policy outlives what is returned.
Result<NamedKey> find_key(const CompiledPolicy& policy, std::string_view name,
                          const std::vector<std::string>& values);

}  // namespace weir::engine
