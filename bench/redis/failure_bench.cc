// How long decisions take while the store cannot answer, one after the other.
//
//   bench_redis_failures URL ROUNDS [PID]    prints how many there were, and their median, p99.9
//                                            and longest in ms, over store.timeout (20 ms)
//
// Each round makes as many calls as a breaker lets wait. With PID, the server's: each round lets it
// go on, waits until it has answered, and stops it (SIGSTOP). Without: a store of its own each
// round.

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

#include "limit/rule.h"
#include "net/loop.h"
#include "net/steady_time.h"
#include "store/redis/breaker.h"
#include "store/redis/redis_store.h"

namespace {

using namespace weir;

struct Waited {
  bool known = false;
  double ms = 0;
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
    loops_.at(0).post([&] {
      const std::int64_t started = net::steady_ns();
      store_->charge({&charge, 1}, Instant{}, {&answer, 1}, [&, started](store::Admission) {
        told.set_value(static_cast<double>(net::steady_ns() - started) / 1e6);
      });
    });
    const double ms = told.get_future().get();
    return {answer.known, ms};
  }

 private:
  net::Loops loops_;
  std::unique_ptr<store::RedisStore> store_;
};

void add_failures(Asked& asked, std::vector<double>& all) {
  for (int i = 0; i < store::redis::Breaker::kFailures; ++i) {
    const Waited waited = asked.ask();
    if (!waited.known) all.push_back(waited.ms);
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
  std::vector<double> all;
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
  std::sort(all.begin(), all.end());
  std::printf("%zu %.1f %.1f %.1f\n", all.size(), all[all.size() / 2],
              all[std::min(all.size() - 1, all.size() * 999 / 1000)], all.back());
  return 0;
}
