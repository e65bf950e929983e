#include "app/fleet_bans.h"

#include <algorithm>
#include <utility>

#include "app/live/remote_store.h"
#include "net/steady_time.h"
#include "store/redis/key_name.h"
#include "store/redis/script.h"
#include "wire/resp/writer.h"

namespace weir::app {
namespace {

namespace redis = store::redis;

std::string microseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

Duration microseconds(const resp::Reply& value) {
  constexpr std::int64_t kMax =
      std::chrono::duration_cast<std::chrono::microseconds>(Duration::max()).count() / 2;
  return std::chrono::microseconds(std::clamp<std::int64_t>(value.integer(), 0, kMax));
}

// A key of Redis says the limit too; no limit's name has a colon.
std::string name_of(std::string_view limit, std::string_view key) {
  std::string name(limit);
  name += ':';
  return name += key;
}

// `value`: the first of three: what is left, times, what is left until it is forgotten.
engine::Banned banned_of(const std::string& name, resp::Reply value) {
  engine::Banned banned;
  const std::size_t colon = std::min(name.find(':'), name.size() - 1);
  banned.limit = name.substr(0, colon);
  banned.key = name.substr(colon + 1);
  banned.left = microseconds(value);
  value = value.next();
  banned.times = static_cast<std::uint32_t>(std::clamp<std::int64_t>(value.integer(), 0, 1 << 30));
  banned.forgotten = microseconds(value.next());
  return banned;
}

bool has_ban(const policy::Policy& policy) {
  return std::any_of(policy.limits.begin(), policy.limits.end(),
                     [](const policy::Limit& limit) { return limit.ban.has_value(); });
}

}  // namespace

Result<std::unique_ptr<FleetBans>> FleetBans::open(net::Loop& loop, const policy::Store& store,
                                                   engine::BanBook& book, const Clock& clock) {
  auto place = place_in_store(store, "{bans}");
  if (!place) return place.error();
  return std::unique_ptr<FleetBans>(
      new FleetBans(loop, redis_settings(*place, kPatience), place->key, book, clock));
}

FleetBans::FleetBans(net::Loop& loop, redis::Settings settings, std::string names,
                     engine::BanBook& book, const Clock& clock)
    : loop_(loop),
      settings_(std::move(settings)),
      names_(std::move(names)),
      book_(book),
      clock_(clock),
      health_(nullptr, redis::Health::Concern::kBans),
      client_(loop, settings_, health_),
      timer_(loop.executor()) {
  book_.share({[this](std::string_view limit, const policy::Ban& ban, std::string_view key) {
                 return refused(limit, ban, key);
               },
               [this](std::string_view limit, std::string_view key) { lifted(limit, key); }});
}

FleetBans::~FleetBans() {
  *alive_ = false;
  book_.share({});
  client_.close();
}

void FleetBans::follow(const policy::Policy& policy) {
  if (follows_.load(std::memory_order_relaxed) || !has_ban(policy)) return;
  follows_.store(true, std::memory_order_relaxed);
  client_.start();
  ask();
}

// Whether one more refusal may wait for an answer; then run() must follow.
bool FleetBans::may_wait() {
  if (!follows_.load(std::memory_order_relaxed) || !health_.up()) return false;
  if (waiting_.fetch_add(1, std::memory_order_relaxed) < kMaxWaiting) return true;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool FleetBans::refused(std::string_view limit, const policy::Ban& ban, std::string_view key) {
  if (!may_wait()) return false;
  loop_.post([this, alive = alive_, limit = std::string(limit), ban, key = std::string(key)] {
    if (!*alive) return;
    const std::string name = name_of(limit, key);
    Call call{"refused", name, {}, nullptr};
    call.arguments = {std::to_string(ban.after), microseconds(ban.within), microseconds(ban.length),
                      microseconds(ban.doubling_to)};
    call.done = [this, limit, ban, key, name](const resp::Reply* reply) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      const Instant now = clock_.now();
      if (reply == nullptr || reply->size() != 4) {
        book_.count(limit, ban, key, now);
        return;
      }
      const resp::Reply left = reply->first();
      if (left.integer() <= 0) return;
      const bool begins = left.next().next().next().integer() == 1;
      const engine::Banned banned = banned_of(name, left);
      begins ? book_.begun(banned, now) : book_.learn(banned, now);
    };
    run(std::move(call));
  });
  return true;
}

void FleetBans::lifted(std::string_view limit, std::string_view key) {
  if (!follows_.load(std::memory_order_relaxed)) return;
  loop_.post([this, alive = alive_, name = name_of(limit, key)] {
    if (*alive) run({"lift", name, {}, [](const resp::Reply*) {}});
  });
}

void FleetBans::run(Call asked) {
  redis::ScriptCall call;
  call.script = &redis::ban_script();
  resp::append_argument(call.body, "4");
  resp::append_argument(call.body, names_);
  resp::append_argument(call.body, names_ + "changed");
  resp::append_argument(call.body, names_ + "forgotten");
  resp::append_argument(call.body, names_ + "refusals:" + asked.key);
  resp::append_argument(call.body, asked.verb);
  resp::append_argument(call.body, asked.key);
  for (const std::string& argument : asked.arguments) resp::append_argument(call.body, argument);
  call.arguments = 7 + asked.arguments.size();
  call.slot = redis::slot_of(names_);
  call.deadline_ns = net::steady_ns() + kPatience.count();
  call.done = [alive = alive_, done = std::move(asked.done)](const redis::Outcome& outcome) {
    if (!*alive) return;
    const bool right = outcome.ending == redis::Ending::kReply && !outcome.reply->is_error();
    done(right ? outcome.reply : nullptr);
  };
  client_.run(std::move(call));
}

void FleetBans::ask() {
  run({"changes", version_, {}, [this](const resp::Reply* reply) {
         const std::string before = version_;
         if (reply != nullptr && reply->size() > 0) take_changes(reply);
         if (version_ != before) return ask();  // there may be more
         timer_.expires_after(kAskEvery);
         timer_.async_wait([this, alive = alive_](const net::SystemError& error) {
           if (*alive && !error) ask();
         });
       }});
}

void FleetBans::take_changes(const resp::Reply* reply) {
  const Instant now = clock_.now();
  resp::Reply one = reply->first();
  version_ = std::string(one.text());
  for (std::size_t i = 1; i + 4 <= reply->size(); i += 4) {
    const resp::Reply name = one.next();
    book_.learn(banned_of(std::string(name.text()), name.next()), now);
    one = name.next().next().next();
  }
}

}  // namespace weir::app
