// Store: where counters live, behind one verb.
//
// There is no separate check: between check and update another caller could spend the same token.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/siphash.h"
#include "limit/rule.h"
#include "weir/decision.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::store {

// The most counters that one request may meet.
inline constexpr std::size_t kMaxCharges = 64;

// What a correction does to a counter (Store::correct()).
enum class Change : std::uint8_t {
  kGiveBack,  // `cost`, clamped at fresh; ends calls in flight. What is not there stays so.
  kTake,      // `cost`, though it may not be there: limit::Rule::overdraw()
  kRenew,     // calls in flight count as begun now; those that have left stay so
};

// One counter that one request meets. The views must outlive the call.
struct Charge {
  const limit::Rule* rule = nullptr;
  // Which limit, and which of its sets of numbers: "login", "query@tier:premium". Names the counter
  // together with `key`; survives a reload that changes the numbers behind it.
  std::string_view counter;
  // The values of the limit's key, encoded so that no two tuples collide (engine/key.h).
  std::string_view key;
  std::uint64_t cost = 1;
  // A shadow charge never refuses the request; it is charged only when the request is admitted and
  // it admits the call itself.
  bool shadow = false;
  // One more pair of numbers of the shadow limit whose charge stands before it: they are charged
  // together, where all of them admit the call, or none is. Charges that enforce are so anyway.
  bool with_before = false;
  // For correct(): when the store charged it (Admission::at, and Answer::apart later), so that a
  // window gives back what it took itself. Left out: the window that holds `now`.
  std::optional<Instant> charged_at = std::nullopt;
  Change change = Change::kGiveBack;  // for correct()
};

// Names a correction, so that it is made once, whoever asks and however often.
struct Once {
  Hash128 serial;
  Instant until;  // from then on it is refused: nothing need be remembered
};

// What became of a correction.
struct Correction {
  enum class Outcome : std::uint8_t {
    kMade,
    kSpent,    // it was made before
    kTooLate,  // its Once has ended
    kUnknown,  // the store failed: it may have been made or not
  };
  Outcome outcome = Outcome::kMade;
  // Of the charges that ended or renewed calls in flight: how many found them still there.
  std::uint32_t found = 0;
  Instant at = {};  // when it was made: renewed calls count as begun then
  // Where what lies in several places was renewed, each by a clock of its own: by how much later
  // than `at` each charge was, in their order. Empty: all at `at`.
  std::vector<Duration> apart = {};
};

// Whether a request was admitted, and the moment at which the store decided it: an instant behind
// the store's high-water mark counts as that.
struct Admission {
  bool admitted = false;
  Instant at;
  operator bool() const { return admitted; }  // NOLINT: implicit
};

// What a store says of one charge.
struct Answer {
  Verdict verdict;
  Source source = Source::kMemory;
  // False when the store failed and the outcome is not known: the engine then asks the limit's
  // `on_error`. The verdict means nothing.
  bool known = true;
  // False when another charge of the request was refused without asking the store (deny cache), and
  // so nothing was asked of this one: of the verdict, the quota and whether the cost exceeds it.
  bool asked = true;
  // By how much later than Admission::at it was charged: a request whose counters lie in several
  // places is decided by several clocks.
  Duration apart{0};
};

class Store {
 public:
  // Told whether the request was admitted. Runs exactly once for each charge(): before it returns
  // where the store answers at once (memory), else later on the calling thread's loop.
  using Done = std::function<void(Admission)>;

  virtual ~Store() = default;

  // Decides all enforcing charges together: all admit and all are charged, or none is charged; then
  // the shadow charges. answers[i] is charge i's own verdict: what it would say alone (so, for a
  // request refused by another limit, an admitting charge reports its state uncharged).
  // REQUIRES: answers.size() == charges.size(); at most kMaxCharges; no two with the same counter
  // and key; all views live until `done` has run. THREADS: any.
  // ENSURES: a refused request leaves every state bit for bit as it was. Where an answer is not
  // known, `admitted` is what the known ones say, and a known charge may have been taken.
  virtual void charge(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
                      Done done) = 0;

  // Told what became of it, as Done is.
  using Corrected = std::function<void(Correction)>;

  // Corrects what was charged, each counter by its own Change, all at one moment; at most once
  // where `once` names it. Without it a correction is made whenever it is asked for. REQUIRES:
  // charges is not empty; at most kMaxCharges; no two with the same counter and key. The views need
  // live no longer than the call. `told` may be null. THREADS: any.
  virtual void correct(std::span<const Charge> charges, const std::optional<Once>& once,
                       Instant now, Corrected told) = 0;

  // Gives back `cost` to each counter, clamped at fresh; unknown counters stay unknown.
  void refund(std::span<const Charge> charges, Instant now, Corrected told = nullptr) {
    correct(charges, std::nullopt, now, std::move(told));
  }

  // Forgets the counters: they are fresh again. `told` may be null; as of correct(), but that it
  // hears of kMade and kUnknown alone.
  virtual void reset(std::span<const Charge> charges, Corrected told) = 0;

  // Why this store cannot count by numbers that a rule can hold, or nothing.
  virtual std::optional<Error> cannot_count(const limit::Rule&) const { return std::nullopt; }
};

}  // namespace weir::store
