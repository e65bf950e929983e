#include "policy/scalar.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/wide.h"
#include "policy/units.h"
#include "policy/words.h"

namespace weir::policy {
namespace {

// Only after a number: "10/100ms", "1/2w".
constexpr std::array<Unit, 4> kCountedUnits{
    {{"us", kMicrosecond}, {"ms", 1'000 * kMicrosecond}, {"d", kDay}, {"w", 7 * kDay}}};

constexpr std::array<Unit, 7> kSizeUnits{{{"B", 1},
                                          {"KiB", 1ULL << 10},
                                          {"MiB", 1ULL << 20},
                                          {"GiB", 1ULL << 30},
                                          {"kB", 1'000},
                                          {"MB", 1'000'000},
                                          {"GB", 1'000'000'000}}};

constexpr std::string_view kRateUnitWords = "use s, min, h, day, week or month";
constexpr std::string_view kDurationWords = "wants a duration such as 250ms, 60s or 1h30m";
constexpr std::string_view kRateWords = "wants a rate such as 10/s, 0.2/s, 100/60s or 10 per 1h30m";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto it =
      std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  return it == units.end() ? nullptr : &*it;
}

// mantissa / 10^decimals. At most 18 significant digits, so that no product below can overflow.
struct Decimal {
  std::uint64_t mantissa = 0;
  Wide scale = 1;
  std::size_t length = 0;  // bytes read; 0: there is no number
  bool too_long = false;

  bool whole() const { return scale == 1; }
};

// [0-9]+(\.[0-9]+)? at the front of `text`.
Decimal read_decimal(std::string_view text) {
  constexpr std::uint64_t kMaxMantissa = 1'000'000'000'000'000'000;
  Decimal out;
  bool seen_point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !seen_point && i > 0 && i + 1 < text.size() && is_digit(text[i + 1])) {
      seen_point = true;
      continue;
    }
    if (!is_digit(text[i])) break;
    const std::uint64_t next = out.mantissa * 10 + static_cast<std::uint64_t>(text[i] - '0');
    if (next >= kMaxMantissa || out.scale >= kMaxMantissa) {
      out.too_long = true;
      break;
    }
    out.mantissa = next;
    if (seen_point) out.scale *= 10;
  }
  out.length = i;
  while (out.scale > 1 && out.mantissa % 10 == 0) {
    out.mantissa /= 10;
    out.scale /= 10;
  }
  return out;
}

Wide greatest_common_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

ScalarError wrong(std::string_view text, std::string_view wants, std::size_t offset = 0) {
  return ScalarError{"is " + quote(text) + ", " + std::string(wants), offset};
}

std::string_view letters_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_letter(text[end])) ++end;
  return text.substr(from, end - from);
}

// One part of a compound, "30m" of "1h30m", added to `total`. Returns its length or the mistake.
// `next_unit` is the first unit that may still come.
Parsed<std::size_t> add_part(std::string_view text, std::size_t at, std::size_t& next_unit,
                             Wide& total) {
  const Decimal number = read_decimal(text.substr(at));
  if (number.length == 0) return wrong(text, kDurationWords, at);
  if (number.too_long) return wrong(text, "has too many digits, wants at most 18", at);
  const std::size_t unit_at = at + number.length;
  const std::string_view name = letters_at(text, unit_at);
  const bool bare = at == 0 && unit_at == text.size();  // no unit at all: seconds
  if (name.empty() && !bare) return wrong(text, kDurationWords, unit_at);
  const Unit* unit = find_unit(kDurationUnits, bare ? "s" : name);
  if (unit == nullptr) {
    return ScalarError{quote(name) + " is not a unit of a duration, use us, ms, s, m, h, d or w",
                       unit_at};
  }
  const auto index = static_cast<std::size_t>(unit - kDurationUnits.data());
  if (index < next_unit) {
    return wrong(text, "wants each unit once, from long to short: 1h30m", at);
  }
  next_unit = index + 1;
  const Wide nanoseconds = Wide(number.mantissa) * unit->size;
  if (nanoseconds % number.scale != 0) return wrong(text, "is finer than 1 ns", at);
  total += nanoseconds / number.scale;
  return unit_at + name.size() - at;
}

// The period of "N/UNIT" or "N/Mu", read from `offset` of `text`.
Parsed<Decimal> read_period(std::string_view text, std::size_t offset) {
  Decimal number = read_decimal(text.substr(offset));
  const bool counted = number.length > 0;
  if (!counted) number = Decimal{1, 1, 0, false};
  if (number.too_long) return wrong(text, "has too many digits, wants at most 18", offset);
  const std::size_t unit_at = offset + number.length;
  const std::string_view name = text.substr(unit_at);
  const Unit* unit = find_unit(kRateUnits, name);
  if (unit == nullptr && counted) unit = find_unit(kCountedUnits, name);
  if (unit == nullptr) {
    std::string message = quote(name) + " is not a unit of a rate, " + std::string(kRateUnitWords);
    if (name == "m") message = "'m' could be a minute or a month, write min or month";
    if (name.empty()) message = wrong(text, kRateWords).message;
    return ScalarError{message, unit_at};
  }
  if (number.mantissa == 0) return wrong(text, "has a period of 0, must be more than 0", offset);
  const Wide product = Wide(number.mantissa) * unit->size;
  const auto longest = static_cast<Wide>(kLongestDuration.count());
  if (product / number.scale > longest) {
    return wrong(text, "has a period above 100 years", offset);
  }
  if (product % number.scale != 0) return wrong(text, "has a period finer than 1 ns", offset);
  number.mantissa = static_cast<std::uint64_t>(product / number.scale);
  number.scale = 1;
  return number;
}

// amount / period_ns, reduced.
Parsed<RateText> make_rate(std::string_view text, const Decimal& amount, std::uint64_t period_ns) {
  RateText out;
  out.amount = static_cast<std::uint64_t>((amount.mantissa + amount.scale - 1) / amount.scale);
  if (amount.mantissa == 0) {
    out.rate = Rate{0, std::chrono::seconds(1)};
    return out;
  }
  const Wide period = amount.scale * period_ns;
  const Wide divisor = greatest_common_divisor(amount.mantissa, period);
  if (period / divisor > static_cast<Wide>(kLongestDuration.count())) {
    return wrong(text, "is slower than one call in 100 years, use 0 for never");
  }
  out.rate.count = static_cast<std::uint64_t>(amount.mantissa / divisor);
  out.rate.period = Duration(static_cast<std::int64_t>(period / divisor));
  return out;
}

std::string_view trimmed_front(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// What stands after "N": "" or "/UNIT" or "/Mu" or " per DURATION". The period in ns.
Parsed<std::uint64_t> read_divisor(std::string_view text, std::size_t offset) {
  if (offset == text.size()) return kSecond;
  if (text[offset] == '/') {
    const Parsed<Decimal> period = read_period(text, offset + 1);
    if (const auto* error = std::get_if<ScalarError>(&period)) return *error;
    return std::get<Decimal>(period).mantissa;
  }
  const std::string_view rest = trimmed_front(text.substr(offset));
  if (text[offset] != ' ' || !rest.starts_with("per ")) return wrong(text, kRateWords, offset);
  const std::string_view duration = trimmed_front(rest.substr(4));
  const Parsed<Duration> parsed = parse_duration(duration);
  const std::size_t at = text.size() - duration.size();
  if (const auto* error = std::get_if<ScalarError>(&parsed)) {
    return ScalarError{error->message, at + error->offset};
  }
  const Duration period = std::get<Duration>(parsed);
  if (period.count() == 0) return wrong(text, "has a period of 0, must be more than 0", at);
  return static_cast<std::uint64_t>(period.count());
}

}  // namespace

Parsed<std::uint64_t> parse_count(std::string_view text) {
  if (text.empty()) return ScalarError{"is empty, wants a whole number such as 100", 0};
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i])) return wrong(text, "wants a whole number in plain digits", i);
    const auto digit = static_cast<std::uint64_t>(text[i] - '0');
    if (value > (kLargestCount - digit) / 10) {
      return wrong(text, "is above the largest number, 9223372036854775807");
    }
    value = value * 10 + digit;
  }
  return value;
}

Parsed<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return ScalarError{"is empty, " + std::string(kDurationWords), 0};
  std::size_t at = 0;
  std::size_t next_unit = 0;
  Wide total = 0;
  while (at < text.size()) {
    const Parsed<std::size_t> length = add_part(text, at, next_unit, total);
    if (const auto* error = std::get_if<ScalarError>(&length)) return *error;
    at += std::get<std::size_t>(length);
    if (total > static_cast<Wide>(kLongestDuration.count())) {
      return wrong(text, "is above 100 years, the longest duration");
    }
  }
  return Duration(static_cast<std::int64_t>(total));
}

Parsed<RateText> parse_rate(std::string_view text) {
  if (text.empty()) return ScalarError{"is empty, " + std::string(kRateWords), 0};
  const Decimal amount = read_decimal(text);
  if (amount.length == 0) return wrong(text, kRateWords);
  if (amount.too_long) return wrong(text, "has too many digits, wants at most 18");
  const Parsed<std::uint64_t> period = read_divisor(text, amount.length);
  if (const auto* error = std::get_if<ScalarError>(&period)) return *error;
  return make_rate(text, amount, std::get<std::uint64_t>(period));
}

Parsed<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kWants = "wants a size such as 64KiB or 1MiB";
  const Decimal number = read_decimal(text);
  if (number.length == 0) return wrong(text, kWants);
  if (number.too_long) return wrong(text, "has too many digits, wants at most 18");
  if (!number.whole()) return wrong(text, "wants a whole number of its unit");
  const std::string_view name = text.substr(number.length);
  const Unit* unit = find_unit(kSizeUnits, name.empty() ? "B" : name);
  if (unit == nullptr) {
    return ScalarError{quote(name) + " is not a unit of a size, use B, KiB, MiB, GiB, kB, MB or GB",
                       number.length};
  }
  const Wide bytes = Wide(number.mantissa) * unit->size;
  if (bytes > kLargestCount) return wrong(text, "is above the largest size");
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace weir::policy
