#include "redis/runner.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>

#include "limit/rule.h"
#include "net/steady_time.h"
#include "scenario/targets.h"

namespace weir::support {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

template <typename Future>
auto must_get(Future& future) {
  if (future.wait_for(kPatience) != std::future_status::ready) {
    std::fprintf(stderr, "the store did not answer in 20 s\n");
    std::abort();
  }
  return future.get();
}

}  // namespace

Runner::Runner(store::RedisOptions options, std::size_t loops) : loops_(loops) {
  auto made = store::RedisStore::make(loops_, std::move(options));
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message.c_str());
    std::abort();
  }
  store_ = std::move(*made);
  store_->start();
  loops_.start();
}

Runner::~Runner() {
  loops_.stop();
}

void Runner::wait_ready() {
  auto answered = std::make_shared<std::promise<bool>>();
  store_->on_first_answer([answered] { answered->set_value(true); });
  auto future = answered->get_future();
  must_get(future);
}

void Runner::wait_all_ready() {
  wait_ready();
  const auto rule = limit::Rule::make(TokenBucket{{1, std::chrono::hours(1)}, 1000});
  for (int i = 0; i < 30; ++i) {
    const std::string key = "warm" + std::to_string(i);
    until_known(store::Charge{&*rule, "warm", key}, std::chrono::seconds(10));
  }
}

Asked Runner::charge(const std::vector<store::Charge>& charges, Instant now) {
  Asked asked;
  asked.answers.resize(charges.size());
  std::promise<store::Admission> promise;
  const std::int64_t started = net::steady_ns();
  std::int64_t ended = started;
  loops_.at(0).post([&] {
    store_->charge(charges, now, asked.answers, [&](store::Admission admission) {
      ended = net::steady_ns();
      promise.set_value(admission);
    });
  });
  auto future = promise.get_future();
  asked.admission = must_get(future);
  asked.took = Duration(ended - started);
  return asked;
}

store::Correction Runner::correct(const std::vector<store::Charge>& charges,
                                  const std::optional<store::Once>& once, Instant now) {
  std::promise<store::Correction> promise;
  store_->correct(charges, once, now, [&](store::Correction told) { promise.set_value(told); });
  auto future = promise.get_future();
  return must_get(future);
}

void Runner::flush() {
  static const auto rule = limit::Rule::make(TokenBucket{{1, std::chrono::seconds(1)}, 1});
  // Keys enough to reach every node of a Cluster.
  for (const char* key : {"", "a", "b", "c", "d", "e", "f", "g"}) {
    charge(store::Charge{.rule = &*rule, .counter = "flush", .key = key, .cost = 0}, at_ns(0));
  }
}

Duration Runner::until_known(const store::Charge& charge, Duration patience) {
  const std::int64_t started = net::steady_ns();
  while (net::steady_ns() - started < patience.count()) {
    if (this->charge(charge, wall_now()).known) break;
  }
  return Duration(net::steady_ns() - started);
}

store::RedisOptions patient(std::string url) {
  store::RedisOptions options;
  options.url = std::move(url);
  options.timeout = std::chrono::seconds(5);
  options.connect_timeout = std::chrono::seconds(5);
  options.deny_cache = Duration(0);
  return options;
}

Instant wall_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return at_ns(std::chrono::duration_cast<Duration>(now).count());
}

namespace {

// The charges of one request, and what they point at.
struct Charges {
  std::deque<limit::Rule> rules;
  std::deque<std::string> counters;
  std::vector<store::Charge> all;

  Charges(std::span<const scenario::Met> met, const std::string& prefix,
          std::optional<Instant> charged_at) {
    for (const scenario::Met& one : met) {
      rules.push_back(*limit::Rule::make(one.numbers()));
      counters.push_back(prefix + one.counter());
      all.push_back({&rules.back(), counters.back(), one.key, one.cost, one.limit->shadow,
                     one.with_before(), charged_at});
    }
  }
};

bool is_unlimited(const store::Charge& charge) {
  return algorithm_of(charge.rule->numbers()) == Algorithm::kUnlimited;
}

}  // namespace

Instant RedisTarget::advance(Instant now) {
  if (!latest_ || now.steady_ns >= latest_->steady_ns) latest_ = now;
  return *latest_;
}

// Unlimited limits never reach a store (engine.cc): they are answered here.
scenario::Reply RedisTarget::take(std::span<const scenario::Met> met, Instant now) {
  now = advance(now);
  const Charges charges(met, prefix_, std::nullopt);
  std::vector<store::Charge> limited;
  for (const store::Charge& charge : charges.all) {
    if (!is_unlimited(charge)) limited.push_back(charge);
  }
  const Asked asked = runner_.charge(limited, now);
  scenario::Reply reply{asked.admission.admitted, {}};
  auto answer = asked.answers.begin();
  for (const store::Charge& charge : charges.all) {
    Verdict verdict;
    verdict.quota = verdict.remaining = charge.rule->quota();
    if (!is_unlimited(charge)) verdict = (answer++)->verdict;
    reply.verdicts.push_back(verdict);
  }
  return reply;
}

void RedisTarget::correct(std::span<const scenario::Met> met, scenario::Change change, Instant now,
                          std::optional<Instant> charged_at) {
  Charges charges(met, prefix_, charged_at);
  for (store::Charge& charge : charges.all) charge.change = scenario::to_store(change);
  runner_.store().correct(charges.all, std::nullopt, advance(now), nullptr);
  runner_.flush();
}

void RedisTarget::reset(std::span<const scenario::Met> met) {
  runner_.store().reset(Charges(met, prefix_, std::nullopt).all, nullptr);
  runner_.flush();
}

}  // namespace weir::support
