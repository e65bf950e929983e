// A RedisStore with loops of its own, asked from a test's thread as if it answered at once.
//
// THREADS: any number may ask.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "scenario/run.h"
#include "store/redis/redis_store.h"

namespace weir::support {

struct Asked {
  store::Admission admission;
  std::vector<store::Answer> answers;
  Duration took{0};
};

class Runner {
 public:
  explicit Runner(store::RedisOptions options, std::size_t loops = 1);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  store::RedisStore& store() { return *store_; }
  // Waits, at most ten seconds, until the store has got an answer.
  void wait_ready();
  // The same for every node of a Cluster: keys all over it have got an answer.
  void wait_all_ready();

  Asked charge(const std::vector<store::Charge>& charges, Instant now);
  // The same for one.
  store::Answer charge(const store::Charge& charge, Instant now) {
    return this->charge(std::vector{charge}, now).answers.front();
  }
  store::Correction correct(const std::vector<store::Charge>& charges,
                            const std::optional<store::Once>& once, Instant now);
  // Until what was sent before has been answered.
  void flush();
  // Asks again and again until an answer is known, at most `patience`; how long that took.
  Duration until_known(const store::Charge& charge, Duration patience);

 private:
  net::Loops loops_;
  std::unique_ptr<store::RedisStore> store_;
};

// Options for tests that must not fail for a slow machine: a patient deadline, no deny cache.
store::RedisOptions patient(std::string url);

// The moment as this machine's clock has it.
Instant wall_now();

// Scenarios on Redis: the runner hands its time in, which never goes back, as the server's does
// not.
class RedisTarget final : public scenario::Target {
 public:
  explicit RedisTarget(Runner& runner, std::string prefix)
      : runner_(runner), prefix_(std::move(prefix)) {}

  scenario::Reply take(std::span<const scenario::Met> met, Instant now) override;
  void correct(std::span<const scenario::Met> met, scenario::Change change, Instant now,
               std::optional<Instant> charged_at) override;
  void reset(std::span<const scenario::Met> met) override;

 private:
  Instant advance(Instant now);

  Runner& runner_;
  std::string prefix_;  // of counters, so that runs do not meet
  std::optional<Instant> latest_;
};

}  // namespace weir::support
