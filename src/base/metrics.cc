#include "base/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace weir::metrics {
namespace detail {
namespace {

// What all threads share. WHY leaked: threads count while statics are taken down.
struct Slots {
  std::mutex mutex;
  std::uint32_t used = 1;  // slot 0 takes what is past the bound
  std::vector<ThreadSlots*> threads;
  std::map<std::uint32_t, std::uint64_t> retired;  // counted by threads that have ended
};

Slots& slots() {
  static Slots* const instance = new Slots;
  return *instance;
}

std::uint32_t take_slots(std::uint32_t count) {
  Slots& all = slots();
  std::lock_guard lock(all.mutex);
  if (all.used + count > kMaxBlocks * kSlotsPerBlock) return 0;
  const std::uint32_t first = all.used;
  all.used += count;
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

namespace {

void append_number(std::string& out, double value) {
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, result.ptr);
}

void append_number(std::string& out, std::uint64_t value) {
  char buffer[24];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, result.ptr);
}

// A label value: escaped as the format asks, what is not UTF-8 shown as \xHH, cut at 256 bytes.
void append_label_value(std::string& out, std::string_view value) {
  constexpr std::size_t kMaxBytes = 256;
  constexpr char kHex[] = "0123456789abcdef";
  std::size_t i = 0;
  while (i < value.size() && i < kMaxBytes) {
    const std::size_t length = utf8_length(value.substr(i));
    const char c = value[i];
    if (length == 0) {
      out += "\\\\x";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
    } else if (c == '\\') {
      out += "\\\\";
    } else if (c == '"') {
      out += "\\\"";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out.append(value, i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  if (i < value.size()) out += "...";
}

void append_labels(std::string& out, const Labels& labels, std::string_view bucket = {}) {
  if (labels.empty() && bucket.empty()) return;
  out += '{';
  bool first = true;
  for (const auto& [name, value] : labels) {
    if (!first) out += ',';
    first = false;
    out += name;
    out += "=\"";
    append_label_value(out, value);
    out += '"';
  }
  if (!bucket.empty()) {
    if (!first) out += ',';
    out += "le=\"";
    out += bucket;
    out += '"';
  }
  out += '}';
}

}  // namespace

struct Registry::Series {
  Labels labels;
  std::uint32_t first_slot = 0;
  std::function<double()> read;         // gauges
  std::function<std::uint64_t()> kept;  // counters that somebody else keeps
};

struct Registry::Family {
  std::string name;
  std::string help;
  std::string type;
  std::vector<double> bounds;  // histograms
  std::map<Labels, std::unique_ptr<Series>> series;

  void append_counter(std::string& out, const Series& of) const;
  void append_gauge(std::string& out, const Series& of) const;
  void append_histogram(std::string& out, const Series& of) const;
  void append_to(std::string& out) const;
};

std::uint64_t Counter::value() const {
  return detail::sum_of(slot_);
}

// Slots of a histogram: one a bound, one for above all bounds, one for the sum in billionths.
void Histogram::observe_scaled(std::int64_t billionths) const {
  if (bounds_ == nullptr) return;
  const double value = static_cast<double>(billionths) / 1e9;
  const auto at = std::lower_bound(bounds_->begin(), bounds_->end(), value);
  Counter(first_slot_ + static_cast<std::uint32_t>(at - bounds_->begin())).add();
  const auto sum_slot = first_slot_ + static_cast<std::uint32_t>(bounds_->size()) + 1;
  Counter(sum_slot).add(static_cast<std::uint64_t>(std::max<std::int64_t>(billionths, 0)));
}

Registry::Registry() = default;
Registry::~Registry() = default;

Registry::Family& Registry::family(std::string_view name, std::string_view help,
                                   std::string_view type) {
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
  return Counter(series(family(name, help, "counter"), labels, 1).first_slot);
}

Histogram Registry::histogram(std::string_view name, std::string_view help,
                              const std::vector<double>& bounds, const Labels& labels) {
  std::lock_guard lock(mutex_);
  Family& of = family(name, help, "histogram");
  if (of.bounds.empty()) of.bounds = bounds;
  const auto slots = static_cast<std::uint32_t>(of.bounds.size()) + 2;
  const Series& made = series(of, labels, slots);
  // Past the bound on slots a histogram counts nothing: slot 0 is one slot, not a row of them.
  return made.first_slot == 0 ? Histogram() : Histogram(&of.bounds, made.first_slot);
}

void Registry::gauge(std::string_view name, std::string_view help, const Labels& labels,
                     std::function<double()> read) {
  std::lock_guard lock(mutex_);
  series(family(name, help, "gauge"), labels, 0).read = std::move(read);
}

void Registry::counter_from(std::string_view name, std::string_view help,
                            std::function<std::uint64_t()> read) {
  std::lock_guard lock(mutex_);
  series(family(name, help, "counter"), {}, 0).kept = std::move(read);
}

void Registry::Family::append_counter(std::string& out, const Series& of) const {
  std::uint64_t value = 0;
  if (of.kept) {
    value = of.kept();
  } else if (of.first_slot != 0) {
    value = detail::sum_of(of.first_slot);
  }
  if (value == 0) return;
  out += name;
  append_labels(out, of.labels);
  out += ' ';
  append_number(out, value);
  out += '\n';
}

void Registry::Family::append_gauge(std::string& out, const Series& of) const {
  out += name;
  append_labels(out, of.labels);
  out += ' ';
  append_number(out, of.read());
  out += '\n';
}

void Registry::Family::append_histogram(std::string& out, const Series& of) const {
  if (of.first_slot == 0) return;
  std::vector<std::uint64_t> counts(bounds.size() + 1);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = detail::sum_of(of.first_slot + static_cast<std::uint32_t>(i));
    total += counts[i];
  }
  if (total == 0) return;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    std::string bound;
    append_number(bound, i < bounds.size() ? bounds[i] : INFINITY);
    out += name;
    out += "_bucket";
    append_labels(out, of.labels, bound);
    out += ' ';
    append_number(out, below);
    out += '\n';
  }
  out += name;
  out += "_sum";
  append_labels(out, of.labels);
  out += ' ';
  const auto sum_slot = of.first_slot + static_cast<std::uint32_t>(counts.size());
  append_number(out, static_cast<double>(detail::sum_of(sum_slot)) / 1e9);
  out += '\n';
  out += name;
  out += "_count";
  append_labels(out, of.labels);
  out += ' ';
  append_number(out, total);
  out += '\n';
}

void Registry::Family::append_to(std::string& out) const {
  std::string body;
  for (const auto& [labels, of] : series) {
    if (type == "counter") append_counter(body, *of);
    if (type == "gauge") append_gauge(body, *of);
    if (type == "histogram") append_histogram(body, *of);
  }
  if (body.empty()) return;
  out += "# HELP " + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
  out += body;
}

std::string Registry::to_text() const {
  std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [name, of] : families_) of->append_to(out);
  return out;
}

}  // namespace weir::metrics
