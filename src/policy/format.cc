#include "policy/format.h"

#include <array>

#include "base/wide.h"
#include "policy/algorithm_keys.h"
#include "policy/units.h"

namespace weir::policy {
namespace {

constexpr std::array<std::string_view, 6> kCalendarNames{"minute", "hour",  "day",
                                                         "week",   "month", "year"};

// "0.5us": what is left below a microsecond.
std::string fraction_of_us(std::int64_t nanoseconds) {
  std::string digits = std::to_string(nanoseconds);
  digits.insert(0, 3 - digits.size(), '0');
  while (digits.ends_with('0')) digits.pop_back();
  return "0." + digits + "us";
}

struct Formatter {
  std::string operator()(const TokenBucket& n) const {
    return " rate " + format_rate(n.rate) + " burst " + std::to_string(n.burst);
  }
  std::string operator()(const LeakyBucket& n) const {
    return " rate " + format_rate(n.rate) + " queue " + std::to_string(n.queue);
  }
  std::string operator()(const FixedWindow& n) const {
    std::string out = " limit " + std::to_string(n.limit) + " window ";
    if (const auto* calendar = std::get_if<Calendar>(&n.window)) {
      return out + std::string(calendar_word(calendar->unit)) + " timezone " + calendar->timezone;
    }
    out += format_duration(std::get<Duration>(n.window));
    return n.align == Align::kFirst ? out + " align first" : out;
  }
  std::string operator()(const SlidingLog& n) const {
    return " limit " + std::to_string(n.limit) + " window " + format_duration(n.window);
  }
  std::string operator()(const SlidingCounter& n) const {
    std::string out = " limit " + std::to_string(n.limit) + " window " + format_duration(n.window);
    return n.align == Align::kFirst ? out + " align first" : out;
  }
  std::string operator()(const Concurrency& n) const {
    return " limit " + std::to_string(n.limit) + " timeout " + format_duration(n.timeout);
  }
  std::string operator()(const Unlimited&) const { return ""; }
};

}  // namespace

std::string format_duration(Duration duration) {
  if (duration.count() == 0) return "0s";
  std::string out;
  std::int64_t rest = duration.count();
  for (const Unit& unit : kDurationUnits) {
    const auto size = static_cast<std::int64_t>(unit.size);
    if (unit.name == "us" && rest % size != 0 && rest < size) break;
    // WHY: "1us0.5us" names a unit twice; 1.5us does not.
    if (unit.name == "us" && rest % size != 0) {
      std::string fraction = fraction_of_us(rest % size);
      return out + std::to_string(rest / size) + fraction.substr(1);
    }
    if (rest >= size) out += std::to_string(rest / size) + std::string(unit.name);
    rest %= size;
  }
  return rest > 0 ? out + fraction_of_us(rest) : out;
}

std::string format_rate(const Rate& rate) {
  const auto period = static_cast<std::uint64_t>(rate.period.count());
  for (const Unit& unit : kRateUnits) {
    // A rate of some seconds says more as it is than as tens of thousands a week.
    if (unit.size > kDay && period < kDay) break;
    const Wide product = wide_product(rate.count, unit.size);
    if (product % period == 0 && product / period <= 1'000'000'000'000'000'000) {
      return std::to_string(static_cast<std::uint64_t>(product / period)) + "/" +
             std::string(unit.name);
    }
  }
  return std::to_string(rate.count) + " per " + format_duration(rate.period);
}

std::string_view algorithm_name(Algorithm algorithm) {
  return keys_of(algorithm).name;
}

std::string_view calendar_word(CalendarUnit unit) {
  return kCalendarNames[static_cast<std::size_t>(unit)];
}

std::string format_numbers(const Numbers& numbers) {
  return std::string(algorithm_name(algorithm_of(numbers))) + std::visit(Formatter{}, numbers);
}

}  // namespace weir::policy
