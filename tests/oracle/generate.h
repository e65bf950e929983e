// Random limits and times for property tests: mostly the edges at which rate limiters break.
//
// THREADS: one Generator belongs to one thread.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/scenario.h"
#include "weir/numbers.h"

namespace weir::oracle {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  Numbers numbers(Algorithm algorithm);
  std::uint64_t cost(std::uint64_t quota);
  // How long until the next call, given what the last one was told.
  Duration pause(const Verdict& last, Duration typical);

 private:
  Rate rate();
  Duration span();
  std::uint64_t size();
  std::mt19937_64 random_;
};

// The seed of this run: WEIR_SEED, or a new one. Print it with every failure.
std::uint64_t run_seed();

// About how long one token, slot or window of these numbers takes.
Duration typical_span(const Numbers& numbers);

// For the names of tests. REQUIRES: not kUnlimited.
std::string_view name_of(Algorithm algorithm);

}  // namespace weir::oracle
