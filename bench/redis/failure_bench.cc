// How long decisions take while the store cannot answer, one after the other.
//
//   bench_redis_failures URL ROUNDS [PID]    prints how many there were; their median, p99.9 and
//                                            longest in ms (store.timeout is 20 ms); p99.9 of what
//                                            the machine itself was late by meanwhile; and p99.9 of
//                                            the decisions less that
//
// What the machine was late by is told by a thread that does nothing but ask to be woken in a
// millisecond, on the same processors, side by side with each decision: the longest it was kept
// waiting while that lasted.
//
// Each round makes as many calls as a breaker lets wait. With PID, the server's: each round lets it
// go on, waits until it has answered, and stops it (SIGSTOP). Without: a store of its own each
// round.

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "limit/rule.h"
#include "net/loop.h"
#include "net/steady_time.h"
#include "store/redis/breaker.h"
#include "store/redis/redis_store.h"

namespace {

using namespace weir;

double ms_since(std::int64_t ns) {
  return static_cast<double>(net::steady_ns() - ns) / 1e6;
}

// How late the machine wakes a thread that has nothing to do with the store.
class Control {
 public:
  Control() : thread_([this] { run(); }) {}
  ~Control() {
    done_ = true;
    thread_.join();
  }

  // The longest since it was asked last, in ms.
  double latest() { return static_cast<double>(late_ns_.exchange(0)) / 1e6; }

 private:
  void run() {
    while (!done_) {
      const std::int64_t due = net::steady_ns() + 1'000'000;
      std::this_thread::sleep_until(net::steady_point(due));
      const std::int64_t late = net::steady_ns() - due;
      std::int64_t seen = late_ns_;
      while (late > seen && !late_ns_.compare_exchange_weak(seen, late)) {
      }
    }
  }

  std::atomic<std::int64_t> late_ns_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

struct Waited {
  bool known = false;
  double ms = 0;
  double machine_ms = 0;  // the machine's own part
};

// A store with a loop of its own, asked from this thread.
class Asked {
 public:
  explicit Asked(const std::string& url) : loops_(1) {
    store::RedisOptions options;
    options.url = url;
    options.deny_cache = Duration(0);
    auto made = store::RedisStore::make(loops_, options);
    if (!made) {
      std::fprintf(stderr, "%s\n", made.error().message.c_str());
      std::exit(1);
    }
    store_ = std::move(*made);
    store_->start();
    loops_.start();
  }
  ~Asked() { loops_.stop(); }

  Waited ask() {
    static const auto rule =
        limit::Rule::make(TokenBucket{{1'000'000, std::chrono::seconds(1)}, 1'000'000});
    const store::Charge charge{.rule = &*rule, .counter = "bench", .key = "1:k,"};
    store::Answer answer;
    std::promise<double> told;
    control_.latest();
    loops_.at(0).post([&] {
      const std::int64_t started = net::steady_ns();
      store_->charge({&charge, 1}, Instant{}, {&answer, 1},
                     [&, started](store::Admission) { told.set_value(ms_since(started)); });
    });
    const double ms = told.get_future().get();
    return {answer.known, ms, control_.latest()};
  }

 private:
  net::Loops loops_;
  std::unique_ptr<store::RedisStore> store_;
  Control control_;
};

double at_share(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto place = static_cast<std::size_t>(static_cast<double>(values.size()) * share);
  return values[std::min(values.size() - 1, place)];
}

void print(const std::vector<Waited>& all) {
  std::vector<double> waits;
  std::vector<double> machine;
  std::vector<double> ours;
  for (const Waited& one : all) {
    waits.push_back(one.ms);
    machine.push_back(one.machine_ms);
    ours.push_back(one.ms - one.machine_ms);
  }
  std::printf("%zu %.1f %.1f %.1f %.1f %.1f\n", all.size(), at_share(waits, 0.5),
              at_share(waits, 0.999), at_share(waits, 1), at_share(machine, 0.999),
              at_share(ours, 0.999));
}

void add_failures(Asked& asked, std::vector<Waited>& all) {
  for (int i = 0; i < store::redis::Breaker::kFailures; ++i) {
    const Waited waited = asked.ask();
    if (!waited.known) all.push_back(waited);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: bench_redis_failures URL ROUNDS [PID]\n");
    return 2;
  }
  const int rounds = std::atoi(argv[2]);
  const pid_t server = argc == 4 ? std::atoi(argv[3]) : 0;
  std::vector<Waited> all;
  std::unique_ptr<Asked> asked;
  for (int round = 0; round < rounds; ++round) {
    if (server == 0 || !asked) asked = std::make_unique<Asked>(argv[1]);
    if (server != 0) {
      kill(server, SIGCONT);
      while (!asked->ask().known) {
      }
      kill(server, SIGSTOP);
    }
    add_failures(*asked, all);
  }
  if (server != 0) kill(server, SIGCONT);
  if (all.empty()) return 1;
  print(all);
  return 0;
}
