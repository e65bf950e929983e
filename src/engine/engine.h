// Engine: request -> limits -> store -> decision.
//
// Holds the policy in force, compiled and immutable, and swaps it atomically on reload: a request
// finishes under the policy it began with. The engine reads no clock.
//
// THREADS: decide() from any thread; install() from one at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "base/published.h"
#include "base/siphash.h"
#include "engine/attributes.h"
#include "policy/policy.h"
#include "store/store.h"
#include "weir/decision.h"
#include "weir/result.h"

namespace weir::engine {

class BanBook;         // ban_book.h
struct Pending;        // pending.h
class CompiledPolicy;  // compiled_policy.h
class LocalShare;      // local_share.h
class Metrics;         // metrics.h
class Receipt;         // receipt.h
class ReceiptIds;      // receipt_id.h
struct Counter;        // compiled_policy.h

// One limit that a request met. `name` lives as long as the decision's policy.
struct LimitDecision {
  std::string_view name;
  const policy::Limit* limit = nullptr;
  const Numbers* numbers = nullptr;                // of the pair of numbers that answered
  std::string_view policy_item;                    // of the same, as RateLimit-Policy lists it
  const std::vector<Counter>* counters = nullptr;  // all pairs of numbers that were asked
  // Of an unlimited limit: allowed, quota and remaining the largest number. Of one whose store
  // failed (source fail_open or fail_closed) only `outcome` means something.
  Verdict verdict;
  bool shadow = false;
  Source source = Source::kMemory;
  Reason reason = Reason::kNone;
  bool asked = true;  // false: of the verdict's numbers only the quota is known (store::Answer)
  std::uint64_t cost = 1;  // what was asked
  Duration apart{0};       // by how much later than Decision::at it was charged (store::Answer)
  // Where the encoded key stands in Decision::keys.
  std::uint32_t key_begin = 0;
  std::uint32_t key_size = 0;

  bool unlimited() const { return algorithm_of(*numbers) == Algorithm::kUnlimited; }
  // Whether the store answered, so that the verdict's numbers can be shown.
  bool known() const { return source != Source::kFailOpen && source != Source::kFailClosed; }
};

struct Decision {
  bool allowed = true;
  // The limit that the decision names (naming.h: the denying one with the longest wait, else the
  // one with the least share left), or -1 when no enforcing limit was met.
  int named = -1;
  Reason reason = Reason::kNone;
  Source source = Source::kMemory;
  std::vector<LimitDecision> limits;  // every limit met, in file order, shadow ones included
  Duration ban_left{0};  // of a ban that no limit made: how long it still holds; 0: not known
  Duration delay{0};     // how long to hold an admitted request
  Instant at;            // when the store decided; durations count from here
  // When this instance decided by its own share, where the store failed, and one of how many.
  Instant local_at;
  std::uint32_t instances = 1;
  std::string keys;  // of the limits met, one after the other (engine/key.h)
  std::shared_ptr<const CompiledPolicy> policy;  // keeps the views above alive

  // Forgets all, keeps the memory of `limits` and of keys of a usual length.
  void clear();

  const LimitDecision* named_limit() const { return named < 0 ? nullptr : &limits[named]; }
  std::string_view key_of(const LimitDecision& limit) const {
    return std::string_view(keys).substr(limit.key_begin, limit.key_size);
  }
};

class Engine {
 public:
  // `registry`, where given, is told every limit met (metrics.h).
  // REQUIRES: the store and the registry outlive the engine.
  explicit Engine(store::Store& store, metrics::Registry* registry = nullptr);
  ~Engine();

  // Makes a policy ready to be put in force. THREADS: any.
  // ERRORS: kInvalid when its numbers cannot be held.
  Result<std::shared_ptr<const CompiledPolicy>> prepare(policy::Policy policy) const;

  // Puts a policy in force that prepare() made.
  void install(std::shared_ptr<const CompiledPolicy> policy);
  // Both in one. ERRORS: as prepare(); then nothing changes.
  Result<bool> install(policy::Policy policy);

  // How many instances share the store, for `store.instances: auto`; a policy that names a number
  // keeps it. THREADS: any. REQUIRES: install() has succeeded once.
  void set_instances(std::uint32_t count);
  std::uint32_t instances() const;

  // What has been counted; null where nobody counts.
  const Metrics* metrics() const { return metrics_.get(); }

  // Told every refused request that was matched against the policy, before its `done`.
  // REQUIRES: set before the first decision.
  using Denied = std::function<void(const Attributes& attributes, const Decision& decision)>;
  void on_denied(Denied denied) { denied_ = std::move(denied); }

  // The policy in force; never null after the first install().
  std::shared_ptr<const CompiledPolicy> current() const;
  // The same without a share in it: good until this thread asks this or another engine for
  // anything. REQUIRES: install() has succeeded once.
  const CompiledPolicy& glance() const;

  // Told the decision, once: before decide() returns where the store answers at once, else later on
  // the calling thread's loop. WHY a reference: who only reads it leaves its memory to the next.
  using Done = std::function<void(Decision&& decision)>;

  // Decides one request. `cost` replaces the limits' own cost when given (0 is a peek). A request
  // that meets more than 64 counters is refused as limiter_unavailable.
  // REQUIRES: install() has succeeded once; `attributes` lives until `done` has run.
  void decide(const Attributes& attributes, Instant now, std::optional<std::uint64_t> cost,
              Done done);

  // Decides one limit by its name, for the values of its key in their order, whatever it matches.
  // Tiers do not apply; overrides do. `done` as in decide().
  // ERRORS: kNotFound for an unknown limit, kInvalid for another number of values; then `done`
  // never runs.
  Result<bool> take(std::string_view name, const std::vector<std::string>& values, Instant now,
                    std::uint64_t cost, Done done);

  // Speaks for a store that failed about a charge that is no limit's of the policy (adhoc.h), as
  // `store.on_error` has it: by this instance's share of the charge's numbers; else the answer
  // stays unknown, and its source and verdict say whether the call is let through.
  void stand_in(const store::Charge& charge, Instant now, store::Answer& answer);

  // Keys that limits have refused too often.
  BanBook& bans() { return *bans_; }
  const BanBook& bans() const { return *bans_; }
  // Lifts the ban of one key of a limit. False: it was not banned here. ERRORS: as take().
  Result<bool> lift_ban(std::string_view name, const std::vector<std::string>& values, Instant now);

  // Told what became of a correction, as `done` is; may be null.
  using Corrected = store::Store::Corrected;

  // Forgets the counters of one key of a limit, and then its ban, or gives back `cost` to them,
  // clamped at full. ERRORS: as take(); then `told` never runs.
  Result<bool> reset(std::string_view name, const std::vector<std::string>& values, Instant now,
                     Corrected told = nullptr);
  Result<bool> refund(std::string_view name, const std::vector<std::string>& values, Instant now,
                      std::uint64_t cost, Corrected told = nullptr);

  // What an admitted decision charged can still be corrected, by its receipt (receipt.h), in the
  // windows that were charged: one that has passed gives nothing back and takes nothing more.
  // kSpent: it was made before. An empty receipt is made at once.
  // What a limit's call turned out to cost, 0 for nothing; or nothing, where it stays as it was.
  // The limit is null for numbers that came with the call.
  using Actual = std::function<std::optional<std::uint64_t>(const policy::Limit* limit)>;

  // The call turned out to cost `cost`: gives the rest back, or takes what was missing though it
  // may not be there. Corrects the limits that say `settle` where one of the receipt does, else
  // all; calls in flight have no cost to settle.
  void settle(const Receipt& receipt, std::uint64_t cost, Instant now, Corrected told = nullptr);
  void settle(const Receipt& receipt, const Actual& actual, Instant now, Corrected told = nullptr);
  // Gives everything back, and ends the calls in flight.
  void refund(const Receipt& receipt, Instant now, Corrected told = nullptr);
  // Ends the calls in flight, or prolongs them by their timeout from now on: Correction::found says
  // how many counters still had them; those that have left at their timeout stay so. A release
  // waits for a renewal that is under way.
  void release(const Receipt& receipt, Instant now, Corrected told = nullptr);
  void renew(const Receipt& receipt, Instant now, Corrected told = nullptr);

  // What a decision charged, or a receipt, as a text that is good at every instance that shares the
  // store and its secret; and back (receipt_id.h).
  void append_id(const Decision& decision, std::string& out) const;
  void append_id(const Receipt& receipt, std::string& out) const;
  Result<Receipt> open(std::string_view id) const;
  void share_id_secret(const SipKey& secret);

 private:
  void ask(std::unique_ptr<Pending> pending);
  void finish(std::unique_ptr<Pending> pending, store::Admission admission);
  void count(const Pending& pending, const Decision& decision) const;
  void end_places(const Receipt& receipt, Instant now, const Corrected& told);
  void end_renewal(const Receipt& receipt, const store::Correction& correction,
                   const Corrected& told);

  store::Store& store_;
  const std::shared_ptr<Metrics> metrics_;  // WHY shared: the registry writes from it
  Denied denied_;
  std::unique_ptr<LocalShare> local_;
  std::unique_ptr<ReceiptIds> ids_;
  std::unique_ptr<BanBook> bans_;
  Published<const CompiledPolicy> current_;
};

}  // namespace weir::engine
