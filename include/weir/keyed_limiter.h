// KeyedLimiter: one limit for many things, each counted apart by its key: users, addresses, tokens.
//
//   auto logins = weir::KeyedLimiter::make("login", weir::TokenBucket{{.count = 1}, 5});
//   if (!logins->allow(user)) refuse();
//
// Counters live in a Store, which several limiters may share, and whose memory is bounded. A key is
// any bytes; it is kept as a fingerprint under a secret of the store. Exact, as Limiter is; without
// `now`, the store's clock is read: read it once for many calls where you can. Samples that come
// late count as the latest one that the store has seen.
//
// Nothing throws but for lack of memory. THREADS: everything from any thread, but for moving and
// destroying.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/clock.h"
#include "weir/decision.h"
#include "weir/export.h"
#include "weir/limiter.h"
#include "weir/numbers.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

namespace library {
class KeyedCore;
class StoreCore;
struct Rules;
}  // namespace library

struct StoreOptions {
  // Counters held at most, 1 to 2^30. A counter equal to fresh is forgotten first, which changes no
  // answer; where none is, the one nearest to fresh in its neighbourhood goes.
  std::size_t max_keys = 1'000'000;
  const Clock* clock = nullptr;  // must outlive the store; null: system_clock()
};

// Where counters live. A handle: copies share one store, which lives as long as any of them.
class WEIR_API Store {
 public:
  // In this process: exact among its threads, not shared with other processes.
  static Store memory(const StoreOptions& options = {});
  // The same, with the counters that save() left in a file, for limiters of the same names; an
  // empty one where there is no such file. ERRORS: kIo; kInvalid where it is damaged or no
  // snapshot.
  static Result<Store> restored(const std::string& file, const StoreOptions& options = {},
                                std::optional<Instant> now = std::nullopt);
  // Writes all counters to a file (what is blocked is not among them) and says how many. It takes
  // the place of `file` whole or not at all, and only its owner can read it: it holds the secret
  // under which keys are kept. Others may call meanwhile. ERRORS: kIo.
  Result<std::size_t> save(const std::string& file,
                           std::optional<Instant> now = std::nullopt) const;

  std::size_t keys() const;         // counters held
  std::uint64_t evictions() const;  // counters forgotten though they were not fresh
  // Drops the counters that equal fresh. Calls do so by the way; a timer may for an idle store.
  std::size_t sweep(std::optional<Instant> now = std::nullopt);

 private:
  friend class KeyedLimiter;
  friend class Engine;
  explicit Store(std::shared_ptr<library::StoreCore> core) : core_(std::move(core)) {}
  // WHY shared: limiters and engines on it may outlive the handle they were made with.
  std::shared_ptr<library::StoreCore> core_;
};

// Numbers for a single call, where the caller knows better: compiled once, used for many.
class WEIR_API Override {
 public:
  // ERRORS: as Limiter::make().
  static Result<Override> make(const Numbers& numbers);
  static Result<Override> make(const std::vector<Numbers>& numbers);

 private:
  friend class KeyedLimiter;
  explicit Override(std::shared_ptr<const library::Rules> rules) : rules_(std::move(rules)) {}
  std::shared_ptr<const library::Rules> rules_;
};

// One call of a batch.
struct KeyedCall {
  std::string_view key;
  std::uint64_t cost = 1;
};

// What a keyed call took, so that it can be corrected. A key does not count how often it began
// anew: a ticket from before reset(), or before an update() by kReset, gives back what that has
// given back already, out of what was taken since. Drop it instead. THREADS: one at a time. The
// limiter outlives its tickets.
class WEIR_API KeyedTicket {
 public:
  KeyedTicket() = default;
  bool granted() const { return verdict_.allowed(); }
  const Verdict& verdict() const { return verdict_; }
  const std::string& key() const { return key_; }

  // As of Ticket (limiter.h): in the window that was charged, once.
  void cancel(std::optional<Instant> now = std::nullopt);
  void settle(std::uint64_t actual, std::optional<Instant> now = std::nullopt);

 private:
  friend class KeyedLimiter;
  library::KeyedCore* core_ = nullptr;
  std::string key_;
  std::uint64_t cost_ = 0;
  Instant charged_at_;
  Verdict verdict_;
};

class WEIR_API KeyedLimiter {
 public:
  // A limiter with a store of its own.
  static Result<KeyedLimiter> make(std::string_view name, const Numbers& numbers,
                                   const StoreOptions& options = {});
  // On a store that others use too. The name keeps their counters apart.
  // ERRORS: as Limiter::make(), and kInvalid for a name that is empty or in use on this store.
  static Result<KeyedLimiter> make(std::string_view name, const std::vector<Numbers>& numbers,
                                   const Store& store);

  KeyedLimiter(KeyedLimiter&& other) noexcept;
  KeyedLimiter& operator=(KeyedLimiter&& other) noexcept;
  ~KeyedLimiter();

  // Takes `cost` tokens of `key` if all are there. Cost 0 looks, and creates nothing.
  bool allow(std::string_view key, std::uint64_t cost = 1,
             std::optional<Instant> now = std::nullopt);
  Verdict check(std::string_view key, std::uint64_t cost = 1,
                std::optional<Instant> now = std::nullopt);
  // By other numbers than the limiter's: what is left in a bucket stays left, what is used in a
  // window stays used.
  Verdict check(std::string_view key, const Override& numbers, std::uint64_t cost = 1,
                std::optional<Instant> now = std::nullopt);
  // Each call on its own, in order, at one instant. REQUIRES: verdicts.size() >= calls.size().
  void check_batch(std::span<const KeyedCall> calls, std::span<Verdict> verdicts,
                   std::optional<Instant> now = std::nullopt);
  // As check(), with a ticket to correct it by.
  KeyedTicket take(std::string_view key, std::uint64_t cost = 1,
                   std::optional<Instant> now = std::nullopt);
  // Takes as many as there are, at most `most`.
  Portion allow_at_most(std::string_view key, std::uint64_t most,
                        std::optional<Instant> now = std::nullopt);
  Verdict peek(std::string_view key, std::optional<Instant> now = std::nullopt) {
    return check(key, 0, now);
  }

  // Gives back, never above full.
  void refund(std::string_view key, std::uint64_t cost, std::optional<Instant> now = std::nullopt);
  // Takes tokens that may not be there: a bucket then owes them (100 years of refilling at most), a
  // window counts above its limit.
  void penalty(std::string_view key, std::uint64_t cost, std::optional<Instant> now = std::nullopt);
  // As new: full, and not blocked.
  void reset(std::string_view key);
  // Refuses this key for so long (at most 100 years); 0 lifts it. Peeks are answered all the same.
  // A refused call is told when it is admitted: at the block's end, or later, or never, where what
  // is left then is not enough.
  // ERRORS: kExhausted when 65,536 keys are blocked already.
  Result<bool> block(std::string_view key, Duration duration,
                     std::optional<Instant> now = std::nullopt);

  // Other numbers for all keys, while others call. Each key comes to them at its next use, as
  // `inherit` has it (in whole tokens, rounded against the caller; what it owes is forgotten), by
  // the numbers that it was last counted under. One that was not used between two updates is taken
  // over once, as the later says; and one that was last counted under just the numbers that are in
  // force now stays as it is, whatever came between: kReset to the same numbers resets nothing,
  // reset(key) does.
  // ERRORS: as make(), and kExhausted after 4,096 different sets of numbers; nothing changes then.
  Result<bool> update(const Numbers& numbers, Inherit inherit = Inherit::kAsIs);

 private:
  friend struct Together;
  explicit KeyedLimiter(std::unique_ptr<library::KeyedCore> core);
  std::unique_ptr<library::KeyedCore> core_;
};

// Several limits on one request: all admit and all are charged, or none is.
//
//   const weir::Together::Part parts[] = {{&per_user, user}, {&per_address, address}};
//   auto verdict = weir::Together::check(parts);
struct WEIR_API Together {
  struct Part {
    KeyedLimiter* limiter = nullptr;
    std::string_view key;
    std::uint64_t cost = 1;
  };
  struct Answer {
    // The one that is named: refused, the longest wait or never; admitted, with the longest delay
    // of them all.
    Verdict verdict;
    std::size_t named = 0;  // whose it is
  };
  // ERRORS: kInvalid for no parts, limiters of different stores, one limiter and key twice, or more
  // than 64 counters in all.
  static Result<Answer> check(std::span<const Part> parts,
                              std::optional<Instant> now = std::nullopt);
};

}  // namespace weir
