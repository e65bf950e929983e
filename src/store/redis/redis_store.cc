#include "store/redis/redis_store.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/seconds.h"
#include "net/steady_time.h"
#include "store/redis/correction_call.h"
#include "store/redis/key_name.h"
#include "store/redis/memory_warning.h"
#include "store/redis/operation.h"
#include "store/redis/script.h"
#include "wire/resp/writer.h"

namespace weir::store {

using redis::CounterRule;
using redis::Ending;
using redis::Item;

namespace {

constexpr std::int64_t kMaxInstances = 100'000;
constexpr Duration kBeatEvery = std::chrono::seconds(3);
constexpr Duration kFirstBeats = std::chrono::milliseconds(200);  // until the store has answered

// The rules that this thread has met, as Redis counts by them.
std::shared_ptr<const CounterRule> counter_rule(const limit::Rule& rule) {
  constexpr std::size_t kMax = 100'000;
  thread_local std::unordered_map<std::uint64_t, std::shared_ptr<const CounterRule>> known;
  const auto found = known.find(rule.serial());
  if (found != known.end()) return found->second;
  if (known.size() >= kMax) known.clear();
  auto made = CounterRule::make(rule);
  std::shared_ptr<const CounterRule> counter;
  if (made) {
    counter = std::make_shared<const CounterRule>(std::move(*made));
  } else {
    log::error("redis: a limit cannot be counted: " + made.error().message);
  }
  known.emplace(rule.serial(), counter);
  return counter;
}

constexpr std::size_t kSecretDigits = 32;

// 32 hexadecimal digits.
std::string text_of(const SipKey& secret) {
  char digits[kSecretDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(secret.k0),
                static_cast<unsigned long long>(secret.k1));
  return digits;
}

std::optional<SipKey> read_secret(std::string_view text) {
  SipKey secret;
  const auto read = [](std::string_view digits, std::uint64_t& word) {
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (text.size() != kSecretDigits) return std::nullopt;
  if (!read(text.substr(0, 16), secret.k0) || !read(text.substr(16), secret.k1))
    return std::nullopt;
  return secret;
}

}  // namespace

Result<std::unique_ptr<RedisStore>> RedisStore::make(net::Loops& loops, RedisOptions options) {
  redis::Settings settings;
  auto url = redis::parse_url(options.url);
  if (!url) return url.error();
  settings.url = std::move(*url);
  settings.timeout = options.timeout;
  settings.connect_timeout = options.connect_timeout;
  if (settings.url.tls || settings.url.sentinel_tls) {
    auto tls = redis::Tls::make(options.tls);
    if (!tls) return tls.error();
    settings.tls = std::move(*tls);
  }
  return std::unique_ptr<RedisStore>(
      new RedisStore(loops, std::move(options), std::move(settings)));
}

RedisStore::RedisStore(net::Loops& loops, RedisOptions options, redis::Settings settings)
    : loops_(loops),
      options_(std::move(options)),
      settings_(std::move(settings)),
      health_(options_.registry),
      denials_(options_.deny_cache) {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    shards_.push_back(std::make_unique<Shard>(loops.at(i), settings_, health_));
  }
  // WHY by this thread: OpenSSL 3.0 never frees what the first that asks it for a digest holds of
  // errors, unless it is the program's main one.
  redis::charge_script();
}

RedisStore::~RedisStore() {
  close();
}

void RedisStore::close() {
  WEIR_CHECK(!loops_.running(), "the loops are stopped before what lives on them goes");
  heartbeat_.reset();
  for (const auto& shard : shards_) {
    shard->client.close();
    shard->loop.run_ready();  // charges that were on their way to this loop
  }
}

void RedisStore::start() {
  for (const auto& shard : shards_) {
    shard->loop.post([&client = shard->client] { client.start(); });
  }
  instance_ = std::to_string(random_sip_key().k0);
  heartbeat_ = std::make_unique<net::SteadyTimer>(shards_.front()->loop.executor());
  shards_.front()->loop.post([this] { beat(); });
}

// Every few seconds, on the first loop.
void RedisStore::beat() {
  if (!heartbeat_) return;  // closed
  if (tell_fleet_) meet_fleet();
  if (!memory_told_) look_at_memory();
  heartbeat_->expires_after(has_answered() ? kBeatEvery : kFirstBeats);
  heartbeat_->async_wait([this](const net::SystemError& error) {
    if (!error) beat();
  });
}

// Says that this instance is there, and learns how many are, and their secret.
void RedisStore::meet_fleet() {
  redis::ScriptCall call;
  call.script = &redis::heartbeat_script();
  const std::string name = options_.prefix + "{instances}";
  resp::append_argument(call.body, "2");
  resp::append_argument(call.body, name);
  resp::append_argument(call.body, name + "secret");
  resp::append_argument(call.body, instance_);
  resp::append_argument(call.body, text_of(secret_));
  call.arguments = 5;
  call.slot = redis::slot_of(name);
  call.deadline_ns = net::steady_ns() + settings_.connect_timeout.count();
  call.fits = [](const resp::Reply& reply) { return reply.is_list() && reply.size() == 3; };
  call.done = [this](const redis::Outcome& outcome) { take_fleet(outcome); };
  shards_.front()->client.run(std::move(call));
}

void RedisStore::on_first_answer(std::function<void()> tell) {
  if (!tell_fleet_) return health_.on_first_answer(std::move(tell));
  tell_answered_ = std::move(tell);
}

void RedisStore::take_fleet(const redis::Outcome& outcome) {
  learn_fleet(outcome);
  if (tell_answered_ && has_answered()) std::exchange(tell_answered_, nullptr)();
}

void RedisStore::learn_fleet(const redis::Outcome& outcome) {
  if (outcome.ending != Ending::kReply || !outcome.reply->is_list() || !tell_fleet_) return;
  const resp::Reply count = outcome.reply->first();
  const resp::Reply sealed_by = count.next();
  const auto secret = read_secret(sealed_by.text());
  if (!secret) return;
  learn_time(sealed_by.next().integer());
  secret_ = *secret;
  Fleet fleet;
  fleet.instances =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(count.integer(), 1, kMaxInstances));
  fleet.secret = secret_;
  tell_fleet_(fleet);
}

// WHY asked of the server again and again: requests that meet one bucket are not told, so as to be
// lean, and yet what they answer is dated by the server's clock.
void RedisStore::learn_time(std::int64_t server_us) {
  for (const auto& shard : shards_) {
    shard->loop.post([&shard = *shard, server_us, told_at_ns = net::steady_ns()] {
      shard.tell_time(server_us, told_at_ns);
    });
  }
}

// Tells, once, what a full server means for limits. A user who may not ask is told nothing.
void RedisStore::look_at_memory() {
  std::string command;
  resp::append_command(command, {"INFO", "memory"});
  shards_.front()->client.send(
      std::move(command), 0, net::steady_ns() + settings_.connect_timeout.count(),
      [this](const redis::Outcome& outcome) {
        if (outcome.ending != Ending::kReply || memory_told_) return;
        memory_told_ = true;
        const std::string warning = redis::memory_warning(outcome.reply->text());
        if (!warning.empty()) log::warning("store " + redis::masked(options_.url) + ": " + warning);
      });
}

std::optional<Error> RedisStore::check(const limit::Rule& rule) {
  if (algorithm_of(rule.numbers()) == Algorithm::kUnlimited) return std::nullopt;
  const auto made = CounterRule::make(rule);
  if (made) return std::nullopt;
  return made.error();
}

RedisStore::Shard& RedisStore::shard_here() {
  const net::Loop* loop = net::Loop::current();
  for (const auto& shard : shards_) {
    if (&shard->loop == loop) return *shard;
  }
  return *shards_.front();
}

// Runs `function` on this thread's loop, at once, or else on the first.
template <typename Function>
void RedisStore::on_shard(Function function) {
  Shard& shard = shard_here();
  if (net::Loop::current() == &shard.loop) return function(shard);
  shard.loop.post([&shard, function = std::move(function)]() mutable { function(shard); });
}

Item RedisStore::make_item(const Charge& charge) const {
  Item item;
  item.rule = counter_rule(*charge.rule);
  item.cost = charge.cost;
  item.shadow = charge.shadow;
  item.change = charge.change;
  if (charge.charged_at) item.charged_at_us = charge.charged_at->steady_ns / kNsPerUs;
  if (!item.rule) return item;
  item.name.reserve(options_.prefix.size() + charge.counter.size() + charge.key.size() + 48);
  redis::append_key_name(item.name, options_.prefix, charge.counter, item.rule->name(), charge.key);
  if (clustered()) item.slot = redis::slot_of(item.name);
  return item;
}

// What can be asked in one call: all of it, or on a Cluster what shares a slot. In the order of the
// first of each.
std::vector<std::vector<Item*>> RedisStore::group(std::vector<Item*> items) const {
  std::vector<std::vector<Item*>> groups;
  for (Item* item : items) {
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& group) { return group.front()->slot == item->slot; });
    if (found == groups.end()) found = groups.emplace(groups.end());
    found->push_back(item);
  }
  return groups;
}

void RedisStore::charge(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
                        Done done) {
  WEIR_CHECK(charges.size() == answers.size() && charges.size() <= kMaxCharges,
             "a request meets at most 64 counters, with room for an answer to each");
  on_shard([this, charges, now, answers, done = std::move(done)](Shard& shard) mutable {
    // Owned by the answers it waits for.
    (new Operation(*this, shard, charges, now, answers, std::move(done)))->run();
  });
}

void RedisStore::correct(std::span<const Charge> charges, const std::optional<Once>& once,
                         Instant now, Corrected told) {
  std::vector<Item> items;
  for (const Charge& charge : charges) {
    Item item = make_item(charge);
    if (!item.rule || (item.cost == 0 && !once)) continue;
    items.push_back(std::move(item));
  }
  on_shard(
      [this, items = std::move(items), once, now, told = std::move(told)](Shard& shard) mutable {
        CorrectionCall::run(*this, shard, std::move(items), once, now, std::move(told));
      });
}

// `landed` runs when all of it has ended, either way.
void RedisStore::give_back(Shard& shard, std::vector<Item> items, Instant now, Corrected landed) {
  CorrectionCall::run(*this, shard, std::move(items), std::nullopt, now, std::move(landed));
}

// One reset(), until the last of its answers. WHY shared: each of them may be the last.
struct RedisStore::Reset {
  std::vector<Item> items;
  Corrected told;
  std::int64_t started_ns = 0;
  std::size_t waiting = 0;
  Correction correction;
};

void RedisStore::reset(std::span<const Charge> charges, Corrected told) {
  auto reset = std::make_shared<Reset>();
  reset->told = std::move(told);
  for (const Charge& charge : charges) {
    Item item = make_item(charge);
    if (item.rule) reset->items.push_back(std::move(item));
  }
  on_shard([this, reset = std::move(reset)](Shard& shard) { send_reset(shard, reset); });
}

void RedisStore::send_reset(Shard& shard, const std::shared_ptr<Reset>& reset) {
  reset->started_ns = net::steady_ns();
  std::vector<Item*> pointers;
  for (Item& item : reset->items) {
    denials_.forget(item.name);
    pointers.push_back(&item);
  }
  const auto groups = group(std::move(pointers));
  reset->waiting = groups.size() + 1;  // one for this function, so that none ends the rest
  for (const auto& together : groups) {
    std::string command;
    resp::append_command_header(command, 1 + together.size());
    resp::append_argument(command, "DEL");
    for (const Item* item : together) resp::append_argument(command, item->name);
    shard.client.send(std::move(command), together.front()->slot,
                      reset->started_ns + settings_.connect_timeout.count(),
                      [this, reset](const redis::Outcome& outcome) { take(*reset, outcome); });
  }
  finish_one(*reset);
}

void RedisStore::take(Reset& reset, const redis::Outcome& outcome) {
  health_.took(redis::Health::Op::kReset, Duration(net::steady_ns() - reset.started_ns));
  const bool answered = outcome.ending == Ending::kReply;
  if (!answered) health_.failed(outcome.ending, false);
  if (!answered || outcome.reply->is_error()) {
    reset.correction.outcome = Correction::Outcome::kUnknown;
  }
  for (const Item& item : reset.items) denials_.forget(item.name);
  finish_one(reset);
}

void RedisStore::finish_one(Reset& reset) {
  if (--reset.waiting == 0 && reset.told) reset.told(reset.correction);
}

}  // namespace weir::store
