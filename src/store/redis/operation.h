// What RedisStore is made of: each loop's part of it, and one charge() from the question to the
// answer. Included by redis_store.cc alone, and correction_call.h.
//
// THREADS: one loop.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "net/steady_time.h"
#include "store/redis/redis_store.h"

namespace weir::store {

// One loop's part.
struct RedisStore::Shard {
  Shard(net::Loop& the_loop, const redis::Settings& settings, redis::Health& health)
      : loop(the_loop), client(the_loop, settings, health) {}

  // What the server's clock showed at `told_at_ns` of the steady clock.
  void tell_time(std::int64_t server_us, std::int64_t told_at_ns) {
    server_us_ = server_us;
    told_at_ns_ = told_at_ns;
  }
  // What it shows at `steady_ns`; the caller's clock speaks for it until it has told.
  std::int64_t server_us(std::int64_t steady_ns, Instant now) const {
    if (told_at_ns_ == 0) return now.wall_ns / kNsPerUs;
    return server_us_ + (steady_ns - told_at_ns_) / kNsPerUs;
  }

  net::Loop& loop;
  redis::Client client;

 private:
  std::int64_t server_us_ = 0;
  std::int64_t told_at_ns_ = 0;  // 0: not yet
};

// One charge(), from the question to the answer.
class RedisStore::Operation {
 public:
  Operation(RedisStore& store, Shard& shard, std::span<const Charge> charges, Instant now,
            std::span<Answer> answers, Done done)
      : store_(store),
        shard_(shard),
        charges_(charges),
        answers_(answers),
        done_(std::move(done)),
        now_(now),
        started_ns_(net::steady_ns()) {
    items_.reserve(charges.size());
    for (const Charge& charge : charges) add_item(charge);
    const redis::GroupCall::Options timed = options();
    at_us_ = timed.time_us.value_or(timed.guess_us);
  }

  void run() {
    if (refused_by_cache()) return finish_refused();
    std::vector<redis::Item*> enforcing;
    std::vector<redis::Item*> shadow;
    for (redis::Item& item : items_) {
      if (item.rule) (item.shadow ? shadow : enforcing).push_back(&item);
    }
    std::vector<redis::Item*> all = enforcing;
    all.insert(all.end(), shadow.begin(), shadow.end());
    auto groups = store_.group(all);
    if (groups.size() <= 1) return ask(std::move(groups), redis::Mode::kCharge, &Operation::finish);
    shadow_ = std::move(shadow);
    ask(store_.group(std::move(enforcing)), redis::Mode::kCharge, &Operation::settle);
  }

 private:
  struct Group {
    std::vector<redis::Item*> items;
    bool charged = false;
  };

  // A refund under way that this call waits for. WHY shared: it may outlive the call.
  struct Landing {
    Landing(net::Loop& loop, Operation* waits) : operation(waits), timer(loop.executor()) {}

    void over() {
      timer.cancel();
      if (Operation* waiting = std::exchange(operation, nullptr)) waiting->one_less();
    }

    Operation* operation;  // null once it has gone on
    net::SteadyTimer timer;
  };

  // WHY not as the charge says: a limit of whose numbers some cannot be counted is not known.
  void add_item(const Charge& charge) {
    const bool after_one = !items_.empty() && items_.back().rule;
    items_.push_back(store_.make_item(charge));
    items_.back().with_before = charge.with_before && after_one;
  }

  redis::GroupCall::Options options() const {
    redis::GroupCall::Options options;
    options.deadline_ns = started_ns_ + store_.settings_.timeout.count();
    options.guess_us = shard_.server_us(started_ns_, now_);
    if (store_.options_.time_from_caller) options.time_us = now_.steady_ns / kTickNs;
    return options;
  }

  redis::DenyCache::Call call_of(const redis::Item& item) const {
    return {item.asked, item.rule, item.cost, now_.steady_ns};
  }

  bool refused_by_cache() {
    if (!store_.denials_.enabled()) return false;
    bool refused = false;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      redis::Item& item = items_[i];
      if (!item.rule) continue;
      item.asked = store_.denials_.ask(item.name);
      if (item.shadow) continue;
      const auto verdict = store_.denials_.find(call_of(item));
      if (!verdict) continue;
      answers_[i] = Answer{*verdict, Source::kDenyCache};
      cached_ |= std::uint64_t{1} << i;
      refused = true;
    }
    return refused;
  }

  // The others are not asked, and stand as they were last seen, where they were. One that could
  // never admit the call says so, as it would in Redis.
  void finish_refused() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if ((cached_ >> i & 1) == 0) answers_[i] = unasked(items_[i]);
    }
    complete(false);
  }

  Answer unasked(const redis::Item& item) {
    if (!item.rule) return Answer{{}, Source::kRedis, /*known=*/false};
    if (const auto seen = store_.denials_.last_seen(call_of(item))) {
      return Answer{*seen, Source::kDenyCache};
    }
    Verdict verdict;
    verdict.quota = item.rule->quota();
    if (item.cost > verdict.quota) verdict.outcome = weir::Outcome::kNever;
    return Answer{verdict, Source::kDenyCache, /*known=*/true, /*asked=*/false};
  }

  // Sends all groups, and goes on with `next` when the last has ended, and one_less() was called
  // `more` times.
  void ask(std::vector<std::vector<redis::Item*>> groups, redis::Mode mode,
           void (Operation::*next)(), std::size_t more = 0) {
    groups_.clear();
    for (auto& items : groups) groups_.push_back(Group{std::move(items)});
    next_ = next;
    waiting_ = groups_.size() + more + 1;  // one for this function, so that none ends the rest
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      redis::GroupCall::Options asked = options();
      asked.mode = mode;
      redis::GroupCall::run(
          shard_.client, groups_[i].items, asked,
          [this, i](const redis::GroupCall::Result& result) { take(groups_[i], result); });
    }
    one_less();
  }

  void take(Group& group, const redis::GroupCall::Result& result) {
    group.charged = result.known && result.admitted;
    if (result.now_us != 0) {
      at_us_ = result.now_us;
      if (!store_.options_.time_from_caller) shard_.tell_time(result.now_us, net::steady_ns());
    }
    if (!result.known) store_.health_.failed(result.ending, result.foreign);
    one_less();
  }

  void one_less() {
    if (--waiting_ > 0) return;
    (this->*next_)();
  }

  bool refused() const {
    return std::any_of(items_.begin(), items_.end(), [](const redis::Item& item) {
      return item.known && !item.shadow && !item.admits;
    });
  }

  // Several slots: gives back where another refused, and sees to the shadow limits.
  void settle() {
    const bool denied = refused();
    std::vector<redis::Item> taken;
    if (denied) taken = taken_items();
    ask(store_.group(std::move(shadow_)), denied ? redis::Mode::kLook : redis::Mode::kCharge,
        &Operation::finish, taken.empty() ? 0 : 1);
    if (!taken.empty()) give_back(std::move(taken));
  }

  std::vector<redis::Item> taken_items() const {
    std::vector<redis::Item> taken;
    for (const Group& group : groups_) {
      if (!group.charged) continue;
      for (const redis::Item* item : group.items) {
        taken.push_back(*item);
        taken.back().charged_at_us = time_of(*item);
      }
    }
    return taken;
  }

  // The refusal is told once this has landed, so that whoever hears of it and asks again, of any
  // instance, is answered as if nothing had been taken. Not later than this call may take: a refund
  // has longer.
  void give_back(std::vector<redis::Item> taken) {
    auto landing = std::make_shared<Landing>(shard_.loop, this);
    landing->timer.expires_at(net::steady_point(options().deadline_ns));
    landing->timer.async_wait([landing](const net::SystemError& error) {
      if (!error) landing->over();
    });
    store_.give_back(shard_, std::move(taken), now_, [landing](Correction) { landing->over(); });
  }

  void finish() {
    admitted_ = !refused();
    bool charged = false;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].with_before) charged = admitted_ && admit_together(i);
      answers_[i] = answer(items_[i], charged);
      answers_[i].apart = Duration((time_of(items_[i]) - at_us_) * kTickNs);
    }
    const bool peek = std::all_of(items_.begin(), items_.end(),
                                  [](const redis::Item& item) { return item.cost == 0; });
    store_.health_.took(peek ? redis::Health::Op::kPeek : redis::Health::Op::kCharge,
                        Duration(net::steady_ns() - started_ns_));
    complete(admitted_);
  }

  // Whether item i and those that are charged with it admit the call.
  bool admit_together(std::size_t i) const {
    do {
      if (!items_[i].admits) return false;
    } while (++i < items_.size() && items_[i].with_before);
    return true;
  }

  std::int64_t time_of(const redis::Item& item) const {
    return item.now_us != 0 ? item.now_us : at_us_;
  }

  Answer answer(const redis::Item& item, bool charged) {
    if (!item.known) return Answer{{}, Source::kRedis, false};
    const std::uint64_t cost = charged || !item.admits ? item.cost : 0;
    const std::int64_t now_us = time_of(item);
    Verdict verdict = item.rule->decide(item.view, cost, now_us);
    if (!admitted_) {
      const bool denied = !item.admits && verdict.outcome == Outcome::kDenied && !item.shadow;
      store_.denials_.remember(call_of(item), denied, item.view, now_us);
    } else if (charged) {
      store_.denials_.charged(call_of(item), now_us);
    }
    return Answer{verdict, Source::kRedis, true};
  }

  void complete(bool admitted) {
    const std::unique_ptr<Operation> self(this);
    done_(Admission{admitted, at_ns(at_us_ * kTickNs)});
  }

  static constexpr std::int64_t kTickNs = 1000;

  RedisStore& store_;
  Shard& shard_;
  std::span<const Charge> charges_;
  std::span<Answer> answers_;
  Done done_;
  const Instant now_;
  const std::int64_t started_ns_;
  std::int64_t at_us_ = 0;  // when it was decided, by the server's clock where it told
  std::vector<redis::Item> items_;
  std::vector<redis::Item*> shadow_;  // that wait for the enforcing ones
  std::vector<Group> groups_;         // being asked
  std::size_t waiting_ = 0;
  void (Operation::*next_)() = nullptr;
  bool admitted_ = false;
  std::uint64_t cached_ = 0;  // items that the deny cache answered
};

}  // namespace weir::store
