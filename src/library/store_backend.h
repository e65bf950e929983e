// StoreBackend: several sets of numbers, or one of another algorithm than a token bucket, counted
// in a memory store of the limiter's own: exact, all or nothing, and with the same answers as the
// same limit in a policy.
//
// THREADS: one at a time, under the limiter's lock.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "library/backend.h"
#include "limit/rule.h"
#include "store/memory/memory_store.h"
#include "store/store.h"
#include "weir/limiter.h"

namespace weir::library {

class StoreBackend final : public Backend {
 public:
  // REQUIRES: 1 to store::kMaxCharges rules.
  explicit StoreBackend(std::vector<limit::Rule> rules);

  Taken take(std::uint64_t cost, Instant now) override;
  std::uint64_t left(Instant now) override;
  Verdict look(std::uint64_t cost, Instant now) override;
  Taken reserve(std::uint64_t cost, Duration most_delay, Instant now) override;
  void give_back(std::uint64_t cost, Instant now, std::optional<Instant> charged_at);
  void take_anyway(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) override;
  void set_left(std::uint64_t tokens, Instant now) override;
  void reset(Instant now) override;
  void update(std::vector<limit::Rule> rules, Inherit inherit, Instant now);

 private:
  using Charges = boost::container::small_vector<store::Charge, 4>;
  using Answers = boost::container::small_vector<store::Answer, 4>;

  store::Charge charge(std::size_t i, std::uint64_t cost) const;
  Charges charges(std::uint64_t cost) const;
  // What take() would answer for each set of numbers.
  Answers answers(std::uint64_t cost, Instant now);
  // One counter alone.
  Verdict take_one(std::size_t i, std::uint64_t cost, Instant now,
                   const store::Takeover* takeover = nullptr);
  void set_one(std::size_t i, std::uint64_t tokens, Instant now);

  std::vector<limit::Rule> rules_;
  std::vector<std::string> names_;  // one for each rule
  store::MemoryStore store_;
};

}  // namespace weir::library
