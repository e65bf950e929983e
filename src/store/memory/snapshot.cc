// MemoryStore's snapshot: its counters in a file, and back.
//
//   "weirsnap" version form secret(2) shards          then records, each with its kind first:
//   S shard groups                                    the records that follow are of this shard
//   R numbers                                         a set of numbers; they count up from 0
//   B rule tag full-at remainder                      a bucket of the slot table
//   W rule id(2) state(3)                             a wide entry
//   L rule id(2) count (at calls)...                  a log
//   E checksum(2)
//
// Moments are wall time: a store of another process maps them to its own steady clock. Where a
// window of a sliding counter starts is not moved, so that windows stay aligned to the epoch.

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <variant>
#include <vector>

#include "store/memory/memory_store.h"
#include "store/memory/snapshot_stream.h"

namespace weir::store {
namespace {

constexpr std::uint64_t kMagic = 0x70616e7372696577;  // "weirsnap"
constexpr std::uint64_t kVersion = 1;

std::uint64_t moved(std::uint64_t ns, std::int64_t by) {
  return ns + static_cast<std::uint64_t>(by);
}

// The state with its steady moments moved.
limit::State moved(limit::State state, const Numbers& numbers, std::int64_t by) {
  const auto* bucket = std::get_if<TokenBucket>(&numbers);
  const auto* leaky = std::get_if<LeakyBucket>(&numbers);
  const auto* counter = std::get_if<SlidingCounter>(&numbers);
  if ((bucket != nullptr && bucket->rate.count > 0) ||
      (leaky != nullptr && leaky->rate.count > 0) ||
      (counter != nullptr && counter->align == Align::kFirst)) {
    state.word[0] = moved(state.word[0], by);
  }
  return state;
}

std::int64_t ahead_of_steady(Instant now) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(now.wall_ns) -
                                   static_cast<std::uint64_t>(now.steady_ns));
}

class Saver {
 public:
  Saver(SnapshotWriter& out, std::int64_t to_wall) : out_(out), to_wall_(to_wall) {}

  std::size_t saved() const { return saved_; }

  void bucket(const BookedRule& rule, std::uint64_t name, const limit::State& state) {
    const std::uint64_t number = number_of(rule);
    out_.byte('B');
    out_.word(number);
    out_.word(name >> BucketSlot::kTagShift);
    const limit::State at = moved(state, rule.rule->numbers(), to_wall_);
    out_.word(at.word[0]);
    out_.word(at.word[1]);
    ++saved_;
  }

  void entry(const Shard& shard, const Entry& entry) {
    const std::uint64_t number = number_of(*entry.rule);
    const bool log = entry.rule->rule->keeps_log();
    out_.byte(log ? 'L' : 'W');
    out_.word(number);
    out_.word(entry.id.low);
    out_.word(entry.id.high);
    ++saved_;
    if (log) return marks(shard.log_of(entry));
    const limit::State at = moved(entry.state, entry.rule->rule->numbers(), to_wall_);
    for (const std::uint64_t word : at.word) out_.word(word);
  }

 private:
  void marks(const limit::LogView& log) {
    out_.word(log.marks.size());
    std::uint64_t before = log.before;
    for (const limit::Mark& mark : log.marks) {
      out_.word(moved(static_cast<std::uint64_t>(mark.at), to_wall_));
      out_.word(mark.total - before);
      before = mark.total;
    }
  }

  std::uint64_t number_of(const BookedRule& rule) {
    const auto [known, fresh] = numbers_.try_emplace(&rule, numbers_.size());
    if (fresh) {
      out_.byte('R');
      out_.numbers(rule.rule->numbers());
    }
    return known->second;
  }

  SnapshotWriter& out_;
  std::int64_t to_wall_;
  std::unordered_map<const BookedRule*, std::uint64_t> numbers_;
  std::size_t saved_ = 0;
};

}  // namespace

Result<std::size_t> MemoryStore::save(const std::string& file, Instant now) {
  auto out = SnapshotWriter::create(file);
  if (!out) return out.error();
  const Instant at = [&] {
    const Visit visit(*this, now);
    return time_.now();
  }();
  out->word(kMagic);
  out->word(kVersion);
  out->byte(static_cast<std::uint8_t>(hash_.form()));
  out->word(hash_.secret().k0);
  out->word(hash_.secret().k1);
  out->word(shard_mask_ + 1);
  Saver saver(*out, ahead_of_steady(at));
  for (std::size_t i = 0; i <= shard_mask_; ++i) {
    const Entrance::Visit visit(entrance_);
    const std::lock_guard lock(shards_[i].mutex);
    out->byte('S');
    out->word(i);
    out->word(tables_[i].groups());
    tables_[i].for_each([&](const BucketSlot& slot) {
      const std::uint64_t name = slot.name.load(std::memory_order_relaxed);
      const BookedRule& rule = *book_.placed(BucketSlot::place_of(name));
      const std::uint64_t arrival = slot.arrival.load(std::memory_order_relaxed);
      saver.bucket(rule, name, rule.narrow->widen(arrival, epoch_));
    });
    shards_[i].for_each([&](const Entry& entry) { saver.entry(shards_[i], entry); });
  }
  out->byte('E');
  const Result<bool> done = out->commit();
  if (!done) return done.error();
  return saver.saved();
}

// Reads the records of one file into a store that is new.
class MemoryStore::Restorer {
 public:
  Restorer(MemoryStore& store, SnapshotReader& in, Instant now)
      : store_(store), in_(in), now_(now), to_steady_(-ahead_of_steady(now)) {}

  // Whether all of it was right.
  bool run() {
    for (;;) {
      const std::uint8_t kind = in_.byte();
      if (kind == 'E') return in_.good();
      if (!in_.good() || !record(kind)) return false;
    }
  }

 private:
  bool record(std::uint8_t kind) {
    if (kind == 'S') return section();
    if (kind == 'R') return rule();
    const std::uint64_t number = in_.word();
    if (number >= rules_.size() || shard_ == nullptr) return false;
    const limit::Rule& under = rules_[number];
    if (kind == 'B') return bucket(under);
    const Hash128 id{in_.word(), in_.word()};
    if (&store_.shard_of(id) != shard_) return false;
    if (kind == 'W' && !under.keeps_log()) return entry(under, id);
    return kind == 'L' && under.keeps_log() && log(under, id);
  }

  bool section() {
    const std::uint64_t number = in_.word();
    if (number > store_.shard_mask_) return false;
    shard_ = &store_.shards_[number];
    store_.tables_[number].start_with(in_.word());
    return true;
  }

  bool rule() {
    const auto numbers = in_.numbers();
    if (!numbers || !in_.good() || rules_.size() == std::numeric_limits<std::uint32_t>::max()) {
      return false;
    }
    auto made = limit::Rule::make(*numbers);
    if (!made) return false;
    rules_.push_back(*std::move(made));
    return true;
  }

  // Counts what finds none.
  bool has_room() {
    const bool room = store_.keys() < store_.budget_.max_entries;
    if (!room) ++store_.budget_.evictions;
    return room;
  }

  BookedRule* booked(const limit::Rule& under) { return store_.book_.intern(under); }

  bool bucket(const limit::Rule& under) {
    const Hash128 id{in_.word() << BucketSlot::kTagShift, 0};
    limit::State state;
    state.word[0] = in_.word();
    state.word[1] = in_.word();
    if (under.token_bucket() == nullptr || !in_.good()) return false;
    state = moved(state, under.numbers(), to_steady_);
    if (under.is_fresh(state, now_) || !has_room()) return true;
    BookedRule* const rule = booked(under);
    store_.book_.give_place(*rule);
    if (!shard_->restore_bucket(id, rule, state, now_)) ++store_.budget_.evictions;
    return true;
  }

  bool entry(const limit::Rule& under, const Hash128& id) {
    limit::State state;
    for (std::uint64_t& word : state.word) word = in_.word();
    if (!in_.good()) return false;
    state = moved(state, under.numbers(), to_steady_);
    if (!under.is_fresh(state, now_) && has_room()) {
      shard_->put(Shard::kNone, id, booked(under), state, now_);
    }
    return true;
  }

  bool log(const limit::Rule& under, const Hash128& id) {
    BookedRule* const rule = booked(under);
    const bool room = has_room();
    for (std::uint64_t left = in_.word(); left > 0; --left) {
      limit::LogStep step;
      step.at = static_cast<std::int64_t>(moved(in_.word(), to_steady_));
      step.charge = true;
      const std::uint64_t calls = in_.word();
      if (!in_.good()) return false;
      if (room) shard_->put_log(Shard::kNone, id, rule, step, calls, now_);
    }
    return true;
  }

  MemoryStore& store_;
  SnapshotReader& in_;
  Instant now_;
  std::int64_t to_steady_;
  Shard* shard_ = nullptr;
  std::vector<limit::Rule> rules_;
};

Result<std::size_t> MemoryStore::restore(const std::string& file, Instant now) {
  auto opened = SnapshotReader::open(file);
  if (!opened) return opened.error();
  if (!*opened) return std::size_t{0};
  SnapshotReader& in = **opened;
  const auto refused = [&](const std::string& why) {
    return Error{ErrorCode::kInvalid,
                 "snapshot " + file + " " + why + "; take it away to start afresh"};
  };
  if (in.word() != kMagic || in.word() != kVersion) return refused("is not one of this version");
  const auto form = static_cast<KeyedHash::Form>(in.byte());
  const SipKey secret{in.word(), in.word()};
  const std::uint64_t shards = in.word();
  if (!in.good() || shards == 0 || (shards & (shards - 1)) != 0 || shards > kMaxShards) {
    return refused("is damaged");
  }
  if (form != KeyedHash::Form::kSipHash && form != KeyedHash::best()) {
    return refused("was written on a processor with AES instructions, which this one has not");
  }
  hash_ = KeyedHash(secret, form);
  lay_out(shards);
  const Visit visit(*this, now);
  start_epoch();
  if (!Restorer(*this, in, time_.now()).run()) return refused("is damaged");
  return keys();
}

}  // namespace weir::store
