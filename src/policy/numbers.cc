#include "policy/numbers.h"

#include <algorithm>

#include "policy/algorithm_keys.h"
#include "policy/format.h"

namespace weir::policy {
namespace {

constexpr std::size_t kMaxPairs = 16;  // of `windows` or `buckets`

template <NumberKey kKey>
void note(const Entry& entry, NumbersDraft& out) {
  out.at[static_cast<std::size_t>(kKey)] =
      entry.value->kind == Node::Kind::kNull ? entry.at : entry.value->at;
}

template <NumberKey kKey, std::optional<std::uint64_t> NumbersDraft::*kMember>
void read_amount(Reader& reader, const Entry& entry, NumbersDraft& out) {
  note<kKey>(entry, out);
  std::uint64_t value = 0;
  if (read_count(reader, entry, value)) out.*kMember = value;
}

void read_rate_key(Reader& reader, const Entry& entry, NumbersDraft& out) {
  note<NumberKey::kRate>(entry, out);
  RateText value;
  if (read_rate(reader, entry, value)) out.rate = value;
}

constexpr std::array kCalendarUnits{CalendarUnit::kMinute, CalendarUnit::kHour,
                                    CalendarUnit::kDay,    CalendarUnit::kWeek,
                                    CalendarUnit::kMonth,  CalendarUnit::kYear};

void read_window(Reader& reader, const Entry& entry, NumbersDraft& out) {
  note<NumberKey::kWindow>(entry, out);
  for (const CalendarUnit unit : kCalendarUnits) {
    if (!entry.value->is_scalar() || entry.value->text != calendar_word(unit)) continue;
    out.window = Calendar{unit, "UTC"};
    return;
  }
  Duration value{0};
  if (read_duration(reader, entry, value, {std::chrono::microseconds(1), kLongestDuration},
                    "a window of 1s counts the calls of one second; to block everything use "
                    "limit: 0")) {
    out.window = value;
  }
}

void read_align(Reader& reader, const Entry& entry, NumbersDraft& out) {
  note<NumberKey::kAlign>(entry, out);
  const int index = read_word(reader, entry, {"epoch", "first"});
  if (index >= 0) out.align = index == 0 ? Align::kEpoch : Align::kFirst;
}

void read_timezone(Reader& reader, const Entry& entry, NumbersDraft& out) {
  note<NumberKey::kTimezone>(entry, out);
  std::string value;
  if (read_text(reader, entry, value)) out.timezone = std::move(value);
}

void read_timeout(Reader& reader, const Entry& entry, NumbersDraft& out) {
  note<NumberKey::kTimeout>(entry, out);
  Duration value{0};
  if (read_duration(reader, entry, value, {std::chrono::milliseconds(1), kLongestDuration})) {
    out.timeout = value;
  }
}

using NumberField = Field<NumbersDraft>;

// In the order of NumberKey.
constexpr std::array<NumberField, kNumberKeys> kNumberFields{{
    {{"rate", "rate", "",
      "How fast tokens come back, or calls leave the queue: `10/s`, `0.2/s`, "
      "`100/60s`, `10 per 1h30m`, or a number per second."},
     read_rate_key},
    {{"burst", "whole number", "",
      "token_bucket: what a full bucket holds. Left out: the rate's "
      "N, rounded up, at least 1."},
     read_amount<NumberKey::kBurst, &NumbersDraft::burst>},
    {{"queue", "whole number", "", "leaky_bucket: how many calls may wait."},
     read_amount<NumberKey::kQueue, &NumbersDraft::queue>},
    {{"limit", "whole number", "", "Windows: calls in one window. concurrency: calls in flight."},
     read_amount<NumberKey::kLimit, &NumbersDraft::limit>},
    {{"window", "duration, or minute, hour, day, week, month or year", "",
      "How long a window is; the words are windows of the calendar, for fixed_window."},
     read_window},
    {{"align", "epoch or first", "epoch",
      "fixed_window, sliding_counter: windows start at multiples of their length since 1970, or at "
      "a key's first call."},
     read_align},
    {{"timezone", "name such as Asia/Shanghai", "UTC",
      "fixed_window with a window of the calendar: where its days begin."},
     read_timezone},
    {{"timeout", "duration, from 1ms", "60s",
      "concurrency: after which a call that was never released has left."},
     read_timeout},
}};

// The fields of one algorithm, for its table and for the pairs of a list.
std::vector<NumberField> fields_of(const AlgorithmKeys& keys) {
  std::vector<NumberField> out;
  for (std::size_t i = 0; i < kNumberKeys; ++i) {
    if (keys.takes(static_cast<NumberKey>(i))) out.push_back(kNumberFields[i]);
  }
  return out;
}

void read_pairs(Reader& reader, const Entry& entry, std::vector<NumbersDraft>& out) {
  const std::vector<Entry> items =
      read_items(reader, entry, "a list such as [{limit: 10, window: 1s}]");
  const bool is_list = entry.value->kind == Node::Kind::kSequence;
  if (is_list && (items.empty() || items.size() > kMaxPairs)) {
    reader.mistake(entry.at, entry.key + " has " + std::to_string(items.size()) +
                                 " entries, wants 1 to " + std::to_string(kMaxPairs));
    return;
  }
  for (const Entry& item : items) {
    NumbersDraft& draft = out.emplace_back();
    draft.place = item.at;
    read_fields<NumbersDraft>(reader, item, kNumberFields, draft);
  }
}

void read_windows(Reader& reader, const Entry& entry, NumbersDraft& out) {
  out.windows_at = entry.at;
  read_pairs(reader, entry, out.windows);
}

void read_buckets(Reader& reader, const Entry& entry, NumbersDraft& out) {
  out.buckets_at = entry.at;
  read_pairs(reader, entry, out.buckets);
}

constexpr std::array<NumberField, 2> kListFields{{
    {{"windows", "list of pairs of limit and window", "",
      "Several windows at once: `[{limit: 10, window: 1s}, {limit: 1000, window: 1d}]`. One limit, "
      "one decision, all or nothing."},
     read_windows},
    {{"buckets", "list of pairs of rate and burst or queue", "", "Several buckets at once."},
     read_buckets},
}};

void read_table(Reader& reader, const Entry& entry, SetDraft& out) {
  const auto all = algorithm_keys();
  const auto keys = std::find_if(all.begin(), all.end(),
                                 [&](const AlgorithmKeys& k) { return k.name == entry.key; });
  NumbersDraft& draft = out.tables[static_cast<std::size_t>(keys->algorithm)].emplace();
  draft.place = entry.at;
  std::vector<NumberField> fields = fields_of(*keys);
  for (const NumberField& field : kListFields) {
    if (field.name == keys->list) fields.push_back(field);
  }
  read_fields<NumbersDraft>(reader, entry, fields, draft);
}

constexpr std::string_view kTableType = "a mapping of its numbers";

constexpr std::array<Field<SetDraft>, 6> kTableFields{{
    {{"token_bucket", kTableType, "", "Takes rate and burst, or buckets."}, read_table},
    {{"leaky_bucket", kTableType, "", "Takes rate and queue, or buckets."}, read_table},
    {{"fixed_window", kTableType, "", "Takes limit, window, align and timezone, or windows."},
     read_table},
    {{"sliding_log", kTableType, "", "Takes limit and window, or windows."}, read_table},
    {{"sliding_counter", kTableType, "", "Takes limit, window and align, or windows."}, read_table},
    {{"concurrency", kTableType, "", "Takes limit and timeout."}, read_table},
}};

}  // namespace

bool NumbersDraft::has_flat() const {
  return std::any_of(at.begin(), at.end(),
                     [](const auto& place_of) { return place_of.has_value(); });
}

bool SetDraft::empty() const {
  return flat.empty() && std::none_of(tables.begin(), tables.end(),
                                      [](const auto& table) { return table.has_value(); });
}

const std::vector<KeyDoc>& set_keys() {
  static const std::vector<KeyDoc> kKeys = [] {
    std::vector<KeyDoc> out(kNumberFields.begin(), kNumberFields.end());
    out.insert(out.end(), kListFields.begin(), kListFields.end());
    out.insert(out.end(), kTableFields.begin(), kTableFields.end());
    return out;
  }();
  return kKeys;
}

void read_set(Reader& reader, const Entry& section, SetDraft& out) {
  out.place = out.flat.place = section.at;
  read_known<NumbersDraft>(reader, section, kNumberFields, out.flat);
  read_known<NumbersDraft>(reader, section, kListFields, out.flat);
  read_known<SetDraft>(reader, section, kTableFields, out);
}

bool read_algorithm(Reader& reader, const Entry& entry, Algorithm& out) {
  std::vector<std::string_view> names;
  for (const AlgorithmKeys& keys : algorithm_keys()) names.push_back(keys.name);
  const int index = read_word(reader, entry, names);
  if (index < 0) return false;
  out = static_cast<Algorithm>(index);
  return true;
}

void document_numbers(std::vector<SectionDoc>& out) {
  SectionDoc numbers = document<NumbersDraft>(
      "limits[]: numbers",
      "The same keys stand in `tiers` and `overrides`, and without the tables in the tables.",
      kNumberFields);
  numbers.keys.insert(numbers.keys.end(), kListFields.begin(), kListFields.end());
  numbers.keys.insert(numbers.keys.end(), kTableFields.begin(), kTableFields.end());
  out.push_back(std::move(numbers));
}

}  // namespace weir::policy
