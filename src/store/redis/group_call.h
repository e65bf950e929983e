// GroupCall: one script call for counters that lie together, from the arguments to the answer.
//
// Asks again, with what is needed, where the script says that it did nothing. A bucket that the
// lean script cannot read is left to the full one; one of other numbers, where that cannot convert
// it either, is converted here (CounterRule::adopt) and swapped in if it is still the same; a
// calendar's bounds that miss the server's time are worked out for that.
//
// THREADS: one loop.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/redis/client.h"
#include "store/redis/counter_rule.h"
#include "store/redis/deny_cache.h"

namespace weir::store::redis {

// One counter of a request.
struct Item {
  std::shared_ptr<const CounterRule> rule;  // null: its numbers cannot be counted in Redis
  std::string name;
  std::uint16_t slot = 0;
  std::uint64_t cost = 1;
  bool shadow = false;
  bool with_before = false;  // Charge::with_before; the one before goes in the same call
  std::optional<std::int64_t> charged_at_us;
  DenyCache::Asked asked;  // where refusals are remembered
  Change change = Change::kGiveBack;

  // What came back, where `known`.
  bool known = false;
  bool admits = false;
  CounterRule::View view;
  std::int64_t now_us = 0;  // of the server; 0: it did not tell

  std::string old_value;
  std::string new_value;
};

enum class Mode : std::uint8_t {
  kCharge,
  kLook,  // decides, and charges nothing
  kCorrect,
};

class GroupCall {
 public:
  struct Result {
    bool known = false;       // the items are filled in, each `known`
    bool admitted = false;    // and charged
    std::int64_t now_us = 0;  // the server's time, where the script told; else 0
    Ending ending = Ending::kReply;
    bool foreign = false;   // a value that is none of ours stands under one of the names
    Correction correction;  // of a correction, where `known`
  };
  using Done = std::function<void(const Result&)>;

  struct Options {
    Mode mode = Mode::kCharge;
    std::int64_t deadline_ns = 0;
    std::int64_t guess_us = 0;  // of the server's time
    // A time that decides in place of the server's: for tests.
    std::optional<std::int64_t> time_us;
    // Of a correction that is made once: the key that marks it, in the items' slot, and until when.
    std::string once;
    std::int64_t once_until_us = 0;
  };

  // Sends the call. The items live until `done` has run, once; it may before this returns.
  static void run(Client& client, std::vector<Item*> items, const Options& options, Done done);

 private:
  static constexpr int kMaxRounds = 64;  // the deadline mostly comes first

  GroupCall(Client& client, std::vector<Item*> items, const Options& options, Done done)
      : client_(client), items_(std::move(items)), options_(options), done_(std::move(done)) {}

  void send();
  ScriptCall make_call() const;
  void take_outcome(const Outcome& outcome);
  void take_lean(const resp::Reply& reply);
  void take_decisions(const resp::Reply& reply);
  void take_correction(const resp::Reply& reply);
  void append_item(std::string& body, const Item& item) const;
  bool prepare(const resp::Reply& again);
  bool prepare(Item& item, std::string_view value);
  void finish(const Result& result);

  Client& client_;
  std::vector<Item*> items_;
  Options options_;
  Done done_;
  int rounds_ = 0;
  bool lean_ = false;
  bool full_ = false;  // the bucket holds what the lean script cannot read
};

}  // namespace weir::store::redis
