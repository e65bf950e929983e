// Decisions a second through RedisStore: keeps DEPTH of them in flight on one loop, and counts.
//
//   bench_redis URL DEPTH COUNT [script]     prints one number; with "script", what run needs to
//                                            send the same calls by redis-benchmark: sha, text,
//                                            args

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "limit/rule.h"
#include "net/loop.h"
#include "net/steady_time.h"
#include "store/redis/counter_rule.h"
#include "store/redis/redis_store.h"
#include "store/redis/script.h"

namespace {

using namespace weir;

limit::Rule rule() {
  return *limit::Rule::make(TokenBucket{{1000, std::chrono::seconds(1)}, 1'000'000});
}

// One of DEPTH callers: asks anew as soon as it was answered.
class Caller {
 public:
  Caller(store::RedisStore& store, const limit::Rule& the_rule, long& left, int& running,
         std::function<void()> finished)
      : store_(store),
        rule_(the_rule),
        left_(left),
        running_(running),
        finished_(std::move(finished)) {}

  void ask() {
    if (left_-- <= 0) {
      if (--running_ == 0) finished_();
      return;
    }
    key_ = "4:user,12:" + std::to_string(100'000'000'000 + next_random() % 100'000) + ",";
    charge_ = store::Charge{.rule = &rule_, .counter = "bench", .key = key_};
    store_.charge({&charge_, 1}, Instant{}, {&answer_, 1}, [this](store::Admission) {
      if (!answer_.known) ++unknown;
      ask();
    });
  }

  static long unknown;

 private:
  static std::uint64_t next_random() {
    static std::uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }

  store::RedisStore& store_;
  const limit::Rule& rule_;
  long& left_;
  int& running_;
  std::function<void()> finished_;
  std::string key_;
  store::Charge charge_;
  store::Answer answer_;
};

long Caller::unknown = 0;

int measure(const std::string& url, int depth, long count) {
  net::Loops loops(1);
  store::RedisOptions options;
  options.url = url;
  options.timeout = std::chrono::seconds(5);
  auto store = store::RedisStore::make(loops, options);
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().message.c_str());
    return 1;
  }
  const limit::Rule the_rule = rule();
  long left = count;
  int running = depth;
  std::int64_t started = 0;
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < depth; ++i) {
    callers.push_back(std::make_unique<Caller>(**store, the_rule, left, running,
                                               [&loops] { loops.at(0).stop(); }));
  }
  (*store)->on_first_answer([&] {
    loops.at(0).post([&] {
      started = net::steady_ns();
      for (const auto& caller : callers) caller->ask();
    });
  });
  (*store)->start();
  loops.at(0).run();
  const double seconds = static_cast<double>(net::steady_ns() - started) / 1e9;
  std::printf("%.0f\n", static_cast<double>(count) / seconds);
  if (Caller::unknown > 0) std::fprintf(stderr, "%ld calls without an outcome\n", Caller::unknown);
  return Caller::unknown > 0 ? 1 : 0;
}

// The arguments of the same call, one a line, as RESP carries them.
void print_script() {
  const auto counter = store::redis::CounterRule::make(rule());
  std::string arguments;
  counter->append_lean(arguments, 1);
  std::printf("%s\n", std::string(store::redis::bucket_script().sha()).c_str());
  std::fputs(arguments.c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "script") {
    print_script();
    return 0;
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_redis URL DEPTH COUNT | bench_redis script\n");
    return 2;
  }
  return measure(argv[1], std::atoi(argv[2]), std::atol(argv[3]));
}
