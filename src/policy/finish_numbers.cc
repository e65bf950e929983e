// finish_set() of numbers.h: from keys as written to the numbers of an algorithm.

#include <algorithm>

#include "limit/rule.h"
#include "policy/algorithm_keys.h"
#include "policy/format.h"
#include "policy/numbers.h"

namespace weir::policy {
namespace {

constexpr std::size_t index_of(NumberKey key) {
  return static_cast<std::size_t>(key);
}

// What `over` leaves out, from `base`. Lists are replaced whole, and replace what is not a list.
NumbersDraft overlay(const NumbersDraft& base, const NumbersDraft& over) {
  if (over.has_list() || (base.has_list() && over.has_flat())) return over;
  NumbersDraft out = base;
  out.place = over.place;
  for (std::size_t i = 0; i < kNumberKeys; ++i) {
    if (over.at[i]) out.at[i] = over.at[i];
  }
  using enum NumberKey;
  if (over.has(kRate)) out.rate = over.rate;
  if (over.has(kBurst)) out.burst = over.burst;
  if (over.has(kQueue)) out.queue = over.queue;
  if (over.has(kLimit)) out.limit = over.limit;
  if (over.has(kAlign)) out.align = over.align;
  if (over.has(kTimezone)) out.timezone = over.timezone;
  if (over.has(kTimeout)) out.timeout = over.timeout;
  if (!over.has(kWindow)) return out;
  out.window = over.window;
  // A window of the other sort does not take the base's align or timezone.
  const bool same_sort = base.window && over.window && base.window->index() == over.window->index();
  if (!same_sort && !over.has(kAlign)) {
    out.align.reset();
    out.at[index_of(kAlign)].reset();
  }
  if (!same_sort && !over.has(kTimezone)) {
    out.timezone.reset();
    out.at[index_of(kTimezone)].reset();
  }
  return out;
}

// Tells keys that the algorithm does not take and those that it lacks.
bool check_keys(Reader& reader, const AlgorithmKeys& keys, const NumbersDraft& draft) {
  bool right = true;
  for (std::size_t i = 0; i < kNumberKeys; ++i) {
    const auto key = static_cast<NumberKey>(i);
    const std::string name(key_name(key));
    if (draft.at[i] && !keys.takes(key)) {
      reader.mistake(*draft.at[i], name + " is no number of " + std::string(keys.name) +
                                       ", which takes " + keys.words());
      right = false;
    } else if (!draft.at[i] && keys.requires_key(key)) {
      reader.mistake(draft.place,
                     name + " is missing: " + std::string(keys.name) + " takes " + keys.words());
      right = false;
    }
  }
  return right;
}

// False where a key was written and its value was wrong; that has been told.
bool has_values(const NumbersDraft& draft) {
  using enum NumberKey;
  return draft.has(kRate) == draft.rate.has_value() &&
         draft.has(kBurst) == draft.burst.has_value() &&
         draft.has(kQueue) == draft.queue.has_value() &&
         draft.has(kLimit) == draft.limit.has_value() &&
         draft.has(kWindow) == draft.window.has_value() &&
         draft.has(kAlign) == draft.align.has_value() &&
         draft.has(kTimezone) == draft.timezone.has_value() &&
         draft.has(kTimeout) == draft.timeout.has_value();
}

// A window of the calendar only where one is taken; align and timezone with the right sort.
bool check_window(Reader& reader, const AlgorithmKeys& keys, const NumbersDraft& draft) {
  if (!draft.window) return true;
  using enum NumberKey;
  const bool calendar = std::holds_alternative<Calendar>(*draft.window);
  if (calendar && keys.algorithm != Algorithm::kFixedWindow) {
    reader.mistake(*draft.at[index_of(kWindow)],
                   "window is one of the calendar, which only fixed_window takes; write a duration "
                   "such as 1d");
    return false;
  }
  if (calendar && draft.align == Align::kFirst) {
    reader.mistake(*draft.at[index_of(kAlign)],
                   "align is first, but a window of the calendar begins with the calendar; leave "
                   "one out");
    return false;
  }
  if (!calendar && draft.timezone) {
    reader.mistake(*draft.at[index_of(kTimezone)],
                   "timezone goes with a window of the calendar (minute, hour, day, week, month or "
                   "year), not with a duration");
    return false;
  }
  return true;
}

Numbers build(Algorithm algorithm, const NumbersDraft& draft) {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return TokenBucket{draft.rate->rate,
                         draft.burst.value_or(std::max<std::uint64_t>(1, draft.rate->amount))};
    case Algorithm::kLeakyBucket:
      return LeakyBucket{draft.rate->rate, *draft.queue};
    case Algorithm::kFixedWindow: {
      FixedWindow out{*draft.limit, *draft.window, draft.align.value_or(Align::kEpoch)};
      auto* calendar = std::get_if<Calendar>(&out.window);
      if (calendar != nullptr && draft.timezone) calendar->timezone = *draft.timezone;
      return out;
    }
    case Algorithm::kSlidingLog:
      return SlidingLog{*draft.limit, std::get<Duration>(*draft.window)};
    case Algorithm::kSlidingCounter:
      return SlidingCounter{*draft.limit, std::get<Duration>(*draft.window),
                            draft.align.value_or(Align::kEpoch)};
    case Algorithm::kConcurrency:
      return Concurrency{*draft.limit, draft.timeout.value_or(std::chrono::seconds(60))};
    case Algorithm::kUnlimited:
      break;
  }
  return Unlimited{};
}

// Where the numbers stand that a state could not hold.
Position place_of_amount(const NumbersDraft& draft) {
  using enum NumberKey;
  for (NumberKey key : {kTimezone, kBurst, kQueue, kRate, kLimit}) {
    if (draft.at[index_of(key)]) return *draft.at[index_of(key)];
  }
  return draft.place;
}

std::optional<Numbers> finish_one(Reader& reader, const AlgorithmKeys& keys,
                                  const NumbersDraft& draft) {
  if (!check_keys(reader, keys, draft) || !has_values(draft)) return std::nullopt;
  if (!check_window(reader, keys, draft)) return std::nullopt;
  Numbers numbers = build(keys.algorithm, draft);
  const Result<limit::Rule> rule = limit::Rule::make(numbers);
  if (rule) return numbers;
  if (rule.error().code == ErrorCode::kUnsupported) {
    reader.mistake(place_of_amount(draft), std::string(keys.name) + " is not built yet");
  } else {
    reader.mistake(place_of_amount(draft), rule.error().message);
  }
  return std::nullopt;
}

// The list that the algorithm takes; the other one is a mistake, and so are numbers beside it.
std::optional<NumberSet> finish_list(Reader& reader, const AlgorithmKeys& keys,
                                     const NumbersDraft& draft) {
  const bool wants_windows = keys.list == "windows";
  const auto& wrong_at = wants_windows ? draft.buckets_at : draft.windows_at;
  if (wrong_at || keys.list.empty()) {
    const std::string_view wrong = draft.windows_at ? "windows" : "buckets";
    const Position at =
        wrong_at ? *wrong_at : *(draft.windows_at ? draft.windows_at : draft.buckets_at);
    reader.mistake(at, std::string(wants_windows ? "buckets" : wrong) + " is no list of " +
                           std::string(keys.name) + ", which takes " +
                           (keys.list.empty() ? keys.words() : std::string(keys.list)));
    return std::nullopt;
  }
  if (draft.has_flat()) {
    reader.mistake(wants_windows ? *draft.windows_at : *draft.buckets_at,
                   std::string(keys.list) + " and numbers beside it: keep one of the two");
    return std::nullopt;
  }
  const std::vector<NumbersDraft>& pairs = wants_windows ? draft.windows : draft.buckets;
  NumberSet out;
  for (const NumbersDraft& pair : pairs) {
    std::optional<Numbers> numbers = finish_one(reader, keys, pair);
    if (numbers) out.push_back(std::move(*numbers));
  }
  if (out.empty() || out.size() != pairs.size()) return std::nullopt;
  return out;
}

std::optional<NumberSet> finish(Reader& reader, const AlgorithmKeys& keys,
                                const NumbersDraft& draft) {
  if (draft.has_list()) return finish_list(reader, keys, draft);
  std::optional<Numbers> numbers = finish_one(reader, keys, draft);
  if (!numbers) return std::nullopt;
  return NumberSet{std::move(*numbers)};
}

// The numbers that a set writes for its limit's algorithm: its table, or the flat ones.
const NumbersDraft& own(const SetDraft& set, Algorithm algorithm) {
  const auto index = static_cast<std::size_t>(algorithm);
  const bool has_table = index < set.tables.size() && set.tables[index];
  return has_table ? *set.tables[index] : set.flat;
}

}  // namespace

std::optional<NumberSet> finish_set(Reader& reader, Algorithm algorithm, const SetDraft& draft,
                                    const SetDraft* base) {
  for (std::size_t i = 0; i < draft.tables.size(); ++i) {
    const auto other = static_cast<Algorithm>(i);
    if (other == algorithm || !draft.tables[i]) continue;
    const bool inherits = base != nullptr && base->tables[i];
    const NumbersDraft whole =
        inherits ? overlay(*base->tables[i], *draft.tables[i]) : *draft.tables[i];
    (void)finish(reader, keys_of(other), whole);
  }
  const NumbersDraft& mine = own(draft, algorithm);
  if (&mine != &draft.flat && !draft.flat.empty()) {
    reader.mistake(mine.place, std::string(keys_of(algorithm).name) +
                                   " and numbers beside it: keep one of the two");
    return std::nullopt;
  }
  NumbersDraft whole = base == nullptr ? mine : overlay(own(*base, algorithm), mine);
  whole.place = draft.place;
  return finish(reader, keys_of(algorithm), whole);
}

}  // namespace weir::policy
