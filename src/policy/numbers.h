// The numbers of a limit: flat, in a table named after their algorithm, or several pairs of them;
// and how tiers and overrides replace a part of them.
//
// Values are read first and put together afterwards, since what a number may be depends on the
// algorithm, and a tier's on those of its limit.
//
// THREADS: see reader.h.

#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "policy/schema.h"

namespace weir::policy {

enum class NumberKey : std::uint8_t {
  kRate,
  kBurst,
  kQueue,
  kLimit,
  kWindow,
  kAlign,
  kTimezone,
  kTimeout,
};
inline constexpr std::size_t kNumberKeys = 8;

// Numbers as written. A key has a place as soon as it is written, a value only if that was right.
struct NumbersDraft {
  Position place;  // of the whole
  std::array<std::optional<Position>, kNumberKeys> at;
  std::optional<RateText> rate;
  std::optional<std::uint64_t> burst;
  std::optional<std::uint64_t> queue;
  std::optional<std::uint64_t> limit;
  std::optional<FixedSpan> window;
  std::optional<Align> align;
  std::optional<std::string> timezone;
  std::optional<Duration> timeout;

  // `windows:` and `buckets:`, instead of the above.
  std::vector<NumbersDraft> windows;
  std::vector<NumbersDraft> buckets;
  std::optional<Position> windows_at;
  std::optional<Position> buckets_at;

  bool has(NumberKey key) const { return at[static_cast<std::size_t>(key)].has_value(); }
  bool has_flat() const;  // any key but the lists
  bool has_list() const { return windows_at.has_value() || buckets_at.has_value(); }
  bool empty() const { return !has_flat() && !has_list(); }
};

// All numbers that a limit, a tier or an override writes.
struct SetDraft {
  Position place;
  NumbersDraft flat;
  // By algorithm; kUnlimited has none.
  std::array<std::optional<NumbersDraft>, 6> tables;

  bool empty() const;
};

// The keys of a SetDraft, for tables of sections that have more.
const std::vector<KeyDoc>& set_keys();
void read_set(Reader& reader, const Entry& section, SetDraft& out);

// `algorithm:`. False after telling the mistake.
bool read_algorithm(Reader& reader, const Entry& entry, Algorithm& out);

// Puts the numbers of `algorithm` together, and checks those of all others. `base`: the limit's,
// for what a tier or an override leaves out. Nothing after telling a mistake.
std::optional<NumberSet> finish_set(Reader& reader, Algorithm algorithm, const SetDraft& draft,
                                    const SetDraft* base);

void document_numbers(std::vector<SectionDoc>& out);

}  // namespace weir::policy
