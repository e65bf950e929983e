// One RedisStore::correct(), from the question to the answer.
//
// Counters that lie together are corrected by one script call, all groups at once. A correction
// that is made once marks that in the first group's slot, in the same script as it corrects that
// group; the others follow when it is known to be the first. At most once each: what became of a
// call whose outcome is not known stays so, and it is not sent again.
//
// Included by redis_store.cc alone. THREADS: one loop.

#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/steady_time.h"
#include "store/redis/operation.h"

namespace weir::store {

class RedisStore::CorrectionCall {
 public:
  static void run(RedisStore& store, Shard& shard, std::vector<redis::Item> items,
                  const std::optional<Once>& once, Instant now, Corrected told) {
    // Owned by the answers it waits for.
    (new CorrectionCall(store, shard, std::move(items), now, std::move(told)))->start(once);
  }

 private:
  using Group = std::vector<redis::Item*>;

  CorrectionCall(RedisStore& store, Shard& shard, std::vector<redis::Item> items, Instant now,
                 Corrected told)
      : store_(store),
        shard_(shard),
        items_(std::move(items)),
        told_(std::move(told)),
        started_ns_(net::steady_ns()) {
    options_.mode = redis::Mode::kCorrect;
    options_.deadline_ns = started_ns_ + store.settings_.connect_timeout.count();
    options_.guess_us = shard.server_us(started_ns_, now);
    if (store.options_.time_from_caller) options_.time_us = now.steady_ns / kTickNs;
  }

  void start(const std::optional<Once>& once) {
    Group all;
    for (redis::Item& item : items_) {
      item.old_value.clear();
      all.push_back(&item);
    }
    forget_denials();
    groups_ = store_.group(std::move(all));
    if (!once || groups_.empty()) return send_rest();
    redis::GroupCall::Options marked = options_;
    marked.once = mark_of(*once);
    marked.once_until_us = once->until.steady_ns / kTickNs;
    Group first = std::move(groups_.front());
    groups_.erase(groups_.begin());
    redis::GroupCall::run(shard_.client, std::move(first), marked,
                          [this](const redis::GroupCall::Result& result) {
                            take(result);
                            const bool made = outcome_ == Correction::Outcome::kMade;
                            made ? send_rest() : finish();
                          });
  }

  // In the slot of the first counter.
  std::string mark_of(const Once& once) const {
    const std::string& name = items_.front().name;
    const std::size_t tag_end = name.find('}', store_.options_.prefix.size()) + 1;
    char serial[33];
    std::snprintf(serial, sizeof serial, "%016llx%016llx",
                  static_cast<unsigned long long>(once.serial.high),
                  static_cast<unsigned long long>(once.serial.low));
    return name.substr(0, tag_end) + "~once/" + serial;
  }

  void send_rest() {
    waiting_ = groups_.size() + 1;  // one for this function, so that none ends the rest
    for (Group& group : std::exchange(groups_, {})) {
      redis::GroupCall::run(shard_.client, std::move(group), options_,
                            [this](const redis::GroupCall::Result& result) {
                              take(result);
                              one_less();
                            });
    }
    one_less();
  }

  void take(const redis::GroupCall::Result& result) {
    if (!result.known) {
      store_.health_.failed(result.ending, result.foreign);
      outcome_ = Correction::Outcome::kUnknown;
      return;
    }
    if (result.correction.outcome != Correction::Outcome::kMade) {
      outcome_ = result.correction.outcome;
    }
    found_ += result.correction.found;
    at_us_ = result.now_us;
  }

  // Of renewed calls, which are found again by when they count as begun.
  std::vector<Duration> apart() const {
    std::vector<Duration> apart;
    if (items_.empty() || items_.front().change != Change::kRenew) return apart;
    for (const redis::Item& item : items_) {
      const std::int64_t later_us = item.now_us != 0 ? item.now_us - at_us_ : 0;
      apart.emplace_back(later_us * kTickNs);
    }
    return apart;
  }

  void one_less() {
    if (--waiting_ == 0) finish();
  }

  void finish() {
    const std::unique_ptr<CorrectionCall> self(this);
    if (!items_.empty()) store_.health_.took(op(), Duration(net::steady_ns() - started_ns_));
    forget_denials();
    if (told_) told_({outcome_, found_, at_ns(at_us_ * kTickNs), apart()});
  }

  // By the first: what a call settles may differ from limit to limit.
  redis::Health::Op op() const {
    switch (items_.front().change) {
      case Change::kGiveBack:
        return redis::Health::Op::kRefund;
      case Change::kTake:
        return redis::Health::Op::kTake;
      case Change::kRenew:
        return redis::Health::Op::kRenew;
    }
    return redis::Health::Op::kRefund;
  }

  void forget_denials() {
    for (const redis::Item& item : items_) store_.denials_.forget(item.name);
  }

  static constexpr std::int64_t kTickNs = 1000;

  RedisStore& store_;
  Shard& shard_;
  std::vector<redis::Item> items_;
  Corrected told_;
  const std::int64_t started_ns_;
  redis::GroupCall::Options options_;
  std::vector<Group> groups_;  // not sent yet
  std::size_t waiting_ = 0;
  Correction::Outcome outcome_ = Correction::Outcome::kMade;
  std::uint32_t found_ = 0;
  std::int64_t at_us_ = 0;
};

}  // namespace weir::store
