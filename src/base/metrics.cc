#include "base/metrics.h"

#include <algorithm>

#include "base/check.h"

namespace weir::metrics {
namespace detail {
namespace {

// What all threads share. WHY leaked: threads count while statics are taken down.
struct Slots {
  std::mutex mutex;
  std::uint32_t used = kLargestRow;  // the first row takes what is past the bound
  std::vector<ThreadSlots*> threads;
  std::map<std::uint32_t, std::uint64_t> retired;  // counted by threads that have ended
};

Slots& slots() {
  static Slots* const instance = new Slots;
  return *instance;
}

// The first of `count` slots of one block; 0 where none are left.
std::uint32_t take_slots(std::uint32_t count) {
  WEIR_CHECK(count <= kLargestRow, "a row lies within the slots that take what is past the bound");
  Slots& all = slots();
  std::lock_guard lock(all.mutex);
  const std::uint32_t left = kSlotsPerBlock - all.used % kSlotsPerBlock;
  const std::uint32_t first = count <= left ? all.used : all.used + left;
  if (first + count > kMaxBlocks * kSlotsPerBlock) return 0;
  all.used = first + count;
  return first;
}

std::uint64_t sum_of(std::uint32_t slot) {
  Slots& all = slots();
  std::lock_guard lock(all.mutex);
  const auto retired = all.retired.find(slot);
  std::uint64_t sum = retired == all.retired.end() ? 0 : retired->second;
  for (const ThreadSlots* thread : all.threads) {
    const auto* block = thread->blocks[slot / kSlotsPerBlock].load(std::memory_order_acquire);
    if (block != nullptr) sum += block[slot % kSlotsPerBlock].load(std::memory_order_relaxed);
  }
  return sum;
}

// Adds up the block that begins at slot `begin`, over all threads. The lock is taken for one block
// at a time: a thread that makes its first block, or ends, waits for that long at most.
void sum_block(std::uint32_t begin, std::uint64_t* sums, std::uint32_t count) {
  Slots& all = slots();
  std::lock_guard lock(all.mutex);
  for (const ThreadSlots* thread : all.threads) {
    const auto* block = thread->blocks[begin / kSlotsPerBlock].load(std::memory_order_acquire);
    if (block == nullptr) continue;
    for (std::uint32_t i = 0; i < count; ++i) sums[i] += block[i].load(std::memory_order_relaxed);
  }
  for (auto it = all.retired.lower_bound(begin);
       it != all.retired.end() && it->first < begin + count; ++it) {
    sums[it->first - begin] += it->second;
  }
}

std::uint32_t slots_in_use() {
  Slots& all = slots();
  std::lock_guard lock(all.mutex);
  return all.used;
}

// Ends with its thread and leaves what that counted behind.
struct ThreadSlotsOwner {
  std::unique_ptr<ThreadSlots> owned;
  ~ThreadSlotsOwner() { thread_slots = nullptr; }
};

thread_local ThreadSlotsOwner owner;

}  // namespace

thread_local constinit ThreadSlots* thread_slots = nullptr;

std::atomic<std::uint64_t>* make_block(std::uint32_t slot) {
  if (thread_slots == nullptr) {
    owner.owned = std::make_unique<ThreadSlots>();
    thread_slots = owner.owned.get();
    std::lock_guard lock(slots().mutex);
    slots().threads.push_back(thread_slots);
  }
  auto* block = new std::atomic<std::uint64_t>[kSlotsPerBlock] {};
  thread_slots->blocks[slot / kSlotsPerBlock].store(block, std::memory_order_release);
  return block;
}

ThreadSlots::~ThreadSlots() {
  Slots& all = slots();
  std::lock_guard lock(all.mutex);
  std::erase(all.threads, this);
  for (std::uint32_t i = 0; i < kMaxBlocks; ++i) {
    const auto* block = blocks[i].load(std::memory_order_relaxed);
    if (block == nullptr) continue;
    for (std::uint32_t j = 0; j < kSlotsPerBlock; ++j) {
      const std::uint64_t value = block[j].load(std::memory_order_relaxed);
      if (value != 0) all.retired[i * kSlotsPerBlock + j] += value;
    }
    delete[] block;
  }
}

}  // namespace detail

Snapshot::Snapshot() : sums_(detail::slots_in_use()) {
  for (std::uint32_t begin = 0; begin < sums_.size(); begin += detail::kSlotsPerBlock) {
    const auto left = static_cast<std::uint32_t>(sums_.size()) - begin;
    detail::sum_block(begin, &sums_[begin], std::min(left, detail::kSlotsPerBlock));
  }
}

Row Row::take(std::uint32_t size) {
  Row row;
  row.first_ = detail::take_slots(size);
  return row;
}

std::uint64_t Counter::value() const {
  return detail::sum_of(slot_);
}

void Histogram::observe_scaled(std::int64_t billionths) const {
  if (bounds_ == nullptr) return;
  const double value = static_cast<double>(billionths) / 1e9;
  const auto at = std::lower_bound(bounds_->begin(), bounds_->end(), value);
  Counter(first_slot_ + static_cast<std::uint32_t>(at - bounds_->begin())).add();
  const auto sum_slot = first_slot_ + static_cast<std::uint32_t>(bounds_->size()) + 1;
  Counter(sum_slot).add(static_cast<std::uint64_t>(std::max<std::int64_t>(billionths, 0)));
}

HistogramCounts read_histogram(const Snapshot& snapshot, std::uint32_t first,
                               const std::vector<double>& bounds) {
  HistogramCounts read;
  read.counts.resize(bounds.size() + 1);
  for (std::size_t i = 0; i < read.counts.size(); ++i) {
    read.counts[i] = snapshot[first + static_cast<std::uint32_t>(i)];
    read.total += read.counts[i];
  }
  const auto sum_slot = first + static_cast<std::uint32_t>(read.counts.size());
  read.sum = static_cast<double>(snapshot[sum_slot]) / 1e9;
  return read;
}

struct Registry::Series {
  Labels labels;
  std::uint32_t first_slot = 0;
  std::function<double()> read;         // gauges
  std::function<std::uint64_t()> kept;  // counters that somebody else keeps
};

struct Registry::Family {
  std::string name;
  std::string help;
  Type type = Type::kGauge;
  std::vector<double> bounds;  // histograms
  Write write;                 // where somebody else knows the series
  std::map<Labels, std::unique_ptr<Series>> series;

  std::uint64_t count(const Series& of, const Snapshot& snapshot) const {
    if (of.kept) return of.kept();
    return of.first_slot == 0 ? 0 : snapshot[of.first_slot];
  }

  void write_one(const Series& of, const Snapshot& snapshot, TextWriter& out) const {
    if (type == Type::kCounter) out.counter(of.labels, count(of, snapshot));
    if (type == Type::kGauge) out.gauge(of.labels, of.read());
    if (type == Type::kHistogram && of.first_slot != 0) {
      out.histogram(of.labels, bounds, read_histogram(snapshot, of.first_slot, bounds));
    }
  }
};

Registry::Registry() = default;
Registry::~Registry() = default;

Registry::Family& Registry::family(std::string_view name, std::string_view help, Type type) {
  auto found = families_.find(name);
  if (found == families_.end()) {
    auto made = std::make_unique<Family>();
    made->name = name;
    made->help = help;
    made->type = type;
    found = families_.emplace(std::string(name), std::move(made)).first;
  }
  return *found->second;
}

Registry::Series& Registry::series(Family& of, const Labels& labels, std::uint32_t slots) {
  auto& place = of.series[labels];
  if (place == nullptr) {
    place = std::make_unique<Series>();
    place->labels = labels;
    if (slots > 0) place->first_slot = detail::take_slots(slots);
  }
  return *place;
}

Counter Registry::counter(std::string_view name, std::string_view help, const Labels& labels) {
  std::lock_guard lock(mutex_);
  return Counter(series(family(name, help, Type::kCounter), labels, 1).first_slot);
}

Histogram Registry::histogram(std::string_view name, std::string_view help,
                              const std::vector<double>& bounds, const Labels& labels) {
  std::lock_guard lock(mutex_);
  Family& of = family(name, help, Type::kHistogram);
  if (of.bounds.empty()) of.bounds = bounds;
  const Series& made = series(of, labels, histogram_slots(of.bounds));
  // Past the bound on slots a histogram counts nothing.
  return made.first_slot == 0 ? Histogram() : Histogram(&of.bounds, made.first_slot);
}

void Registry::gauge(std::string_view name, std::string_view help, const Labels& labels,
                     std::function<double()> read) {
  std::lock_guard lock(mutex_);
  series(family(name, help, Type::kGauge), labels, 0).read = std::move(read);
}

void Registry::counter_from(std::string_view name, std::string_view help,
                            std::function<std::uint64_t()> read) {
  std::lock_guard lock(mutex_);
  series(family(name, help, Type::kCounter), {}, 0).kept = std::move(read);
}

void Registry::family_from(std::string_view name, std::string_view help, Type type, Write write) {
  std::lock_guard lock(mutex_);
  family(name, help, type).write = std::move(write);
}

std::string Registry::to_text(Format format) const {
  std::vector<std::pair<const Family*, std::vector<const Series*>>> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, of] : families_) {
      auto& listed = all.emplace_back(of.get(), std::vector<const Series*>{}).second;
      for (const auto& [labels, one] : of->series) listed.push_back(one.get());
    }
  }
  const Snapshot snapshot;
  TextWriter out(format);
  for (const auto& [of, series] : all) {
    out.begin_family(of->name, of->help, of->type);
    for (const Series* one : series) of->write_one(*one, snapshot, out);
    if (of->write) of->write(snapshot, out);
  }
  return out.finish();
}

std::vector<std::pair<Labels, std::uint64_t>> Registry::counters(std::string_view name,
                                                                 const Snapshot& snapshot) const {
  std::vector<std::pair<Labels, std::uint64_t>> out;
  std::lock_guard lock(mutex_);
  const auto found = families_.find(name);
  if (found == families_.end()) return out;
  for (const auto& [labels, one] : found->second->series) {
    const std::uint64_t value = found->second->count(*one, snapshot);
    if (value > 0) out.emplace_back(labels, value);
  }
  return out;
}

std::pair<const std::vector<double>*, HistogramCounts> Registry::histogram_sum(
    std::string_view name, const Snapshot& snapshot) const {
  std::lock_guard lock(mutex_);
  const auto found = families_.find(name);
  if (found == families_.end()) return {nullptr, {}};
  const Family& of = *found->second;
  HistogramCounts sum;
  for (const auto& [labels, one] : of.series) {
    if (one->first_slot != 0) sum.add(read_histogram(snapshot, one->first_slot, of.bounds));
  }
  return {&of.bounds, std::move(sum)};
}

}  // namespace weir::metrics
