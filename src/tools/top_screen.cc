#include "tools/top_screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/letters.h"
#include "base/utf8.h"

namespace weir::tools {
namespace {

using boost::json::value;

constexpr std::size_t kSparkColumns = 12;
constexpr std::size_t kNumberColumns = 8;
constexpr std::size_t kFixedColumns = 4 * (kNumberColumns + 1) + kSparkColumns + 2;

// --- Reading what was told, whatever it is

const value* member(const value& of, std::string_view name) {
  return of.is_object() ? of.get_object().if_contains(name) : nullptr;
}

double number(const value& of, std::string_view name, double fallback = 0) {
  const value* found = member(of, name);
  if (found == nullptr || !found->is_number()) return fallback;
  return found->to_number<double>();
}

bool truth(const value& of, std::string_view name) {
  const value* found = member(of, name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

// Without control characters: a terminal acts on them.
std::string text(const value& of, std::string_view name) {
  const value* found = member(of, name);
  if (found == nullptr || !found->is_string()) return {};
  std::string out;
  for (std::string_view left(found->get_string()); !left.empty();) {
    const std::size_t length = utf8_length(left);
    const std::string_view character = left.substr(0, length == 0 ? 1 : length);
    if (length == 0 || utf8_is_control(character)) {
      out += '?';
    } else {
      out += character;
    }
    left.remove_prefix(character.size());
  }
  return out;
}

std::vector<const value*> items(const value& of, std::string_view name) {
  std::vector<const value*> out;
  const value* found = member(of, name);
  if (found == nullptr || !found->is_array()) return out;
  for (const value& one : found->get_array()) out.push_back(&one);
  return out;
}

const value& part(const value& of, std::string_view name) {
  static const value kNothing;
  const value* found = member(of, name);
  return found == nullptr ? kNothing : *found;
}

// --- Writing numbers as people read them

template <typename... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, pattern, arguments...);
  return buffer;
}

std::string amount(double value) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  const bool fraction = unit > 0 || (value < 10 && value != std::floor(value));
  return format(fraction && value < 100 ? "%.1f%s" : "%.0f%s", value, kUnits[unit]);
}

std::string share(double value) {
  return value < 0 ? "-" : format(value > 0 && value < 0.0995 ? "%.1f%%" : "%.0f%%", value * 100);
}

std::string wait(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1) return format("%.0fms", seconds * 1000);
  if (seconds < 120) return format(seconds < 10 ? "%.1fs" : "%.0fs", seconds);
  if (seconds < 7200) return format("%.0fm", seconds / 60);
  return format("%.0fh", seconds / 3600);
}

// --- Lines

std::size_t width(std::string_view line) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++characters) {
    i += std::max<std::size_t>(utf8_length(line.substr(i)), 1);
  }
  return characters;
}

std::string cut(std::string_view line, std::size_t columns) {
  std::size_t i = 0;
  for (std::size_t n = 0; n < columns && i < line.size(); ++n) {
    i += std::max<std::size_t>(utf8_length(line.substr(i)), 1);
  }
  return std::string(line.substr(0, i));
}

std::string left(std::string_view text, std::size_t columns) {
  std::string out = cut(text, columns);
  out.append(columns - width(out), ' ');
  return out;
}

std::string right(std::string_view text, std::size_t columns) {
  const std::string kept = cut(text, columns);
  return std::string(columns - width(kept), ' ') + kept;
}

// The two ends of a line, with what is between them blank. The first is never cut for the second,
// of which the last part is what tells.
std::string spread(std::string_view begin, std::string_view end, std::size_t columns) {
  const std::size_t room = columns > width(begin) + 2 ? columns - width(begin) - 2 : 0;
  while (width(end) > room && !end.empty()) {
    end.remove_prefix(std::max<std::size_t>(utf8_length(end), 1));
  }
  return cut(left(begin, columns - width(end) - (end.empty() ? 0 : 1)) + ' ' + std::string(end),
             columns);
}

// The last hour in twelve columns of five minutes.
std::string spark(const value& limit, bool blocks) {
  constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr const char* kAscii[] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};
  std::array<double, kSparkColumns> sums{};
  const auto minutes = items(limit, "minutes");
  for (std::size_t i = 0; i < minutes.size(); ++i) {
    const std::size_t from_end = minutes.size() - 1 - i;
    if (from_end / 5 >= kSparkColumns || !minutes[i]->is_array()) continue;
    for (const value& count : minutes[i]->get_array()) {
      if (count.is_number()) sums[kSparkColumns - 1 - from_end / 5] += count.to_number<double>();
    }
  }
  const double highest = *std::max_element(sums.begin(), sums.end());
  std::string out;
  for (const double sum : sums) {
    const auto height = highest <= 0 || sum <= 0
                            ? 0
                            : std::clamp<std::size_t>(
                                  static_cast<std::size_t>(std::lround(sum / highest * 8)), 1, 8);
    out += blocks ? kBlocks[height] : kAscii[height];
  }
  return out;
}

std::vector<std::string> head(const value& stats, const TopOptions& options) {
  std::vector<std::string> lines;
  const value& policy = part(stats, "policy");
  const bool degraded = !items(stats, "reasons").empty();
  const std::string state = !options.trouble.empty() ? "NOT CONNECTED"
                            : stats.is_null()        ? "connecting"
                            : !truth(stats, "ready") ? "NOT READY"
                            : degraded               ? "DEGRADED"
                                                     : "ready";
  lines.push_back(spread("weir " + text(stats, "version") + "  " + options.where + "  " + state,
                         text(policy, "file") + " gen " + amount(number(policy, "generation")),
                         options.columns));
  const value& rates = part(stats, "rates");
  const value& waits = part(stats, "waits");
  const double allowed = number(rates, "allowed");
  const double denied = number(rates, "denied");
  lines.push_back(cut("allowed " + amount(allowed) + "/s  refused " + amount(denied) + "/s (" +
                          share(allowed + denied > 0 ? denied / (allowed + denied) : 0) +
                          ")  wait P50 " + wait(number(waits, "p50")) + " P99 " +
                          wait(number(waits, "p99")),
                      options.columns));
  const value& store = part(stats, "store");
  std::string about_store = "store " + text(store, "kind");
  if (number(store, "max_keys") > 0) {
    about_store += ": " + amount(number(store, "keys")) + " of " +
                   amount(number(store, "max_keys")) + " keys, " +
                   amount(number(store, "evictions")) + " evicted";
  } else if (!stats.is_null()) {
    about_store += truth(store, "up") ? ": up, P99 " + wait(number(store, "p99"))
                                      : ": DOWN " + text(store, "trouble");
  }
  lines.push_back(cut(about_store, options.columns));
  if (!options.trouble.empty()) {
    lines.push_back(cut("! " + options.trouble, options.columns));
  } else {
    for (const value* reason : items(stats, "reasons")) {
      const value named{{"text", *reason}};
      lines.push_back(cut("! " + text(named, "text"), options.columns));
      break;  // one line is what there is room for; /readyz has all
    }
  }
  return lines;
}

double order_of(const value& limit, TopSort sort) {
  switch (sort) {
    case TopSort::kRate:
      return number(limit, "rate");
    case TopSort::kRefused:
      return number(limit, "refused");
    case TopSort::kLeft:
      return -number(limit, "fullness", 2);  // the emptiest first
    case TopSort::kWait:
      return number(limit, "wait_p99");
    case TopSort::kName:
      return 0;
  }
  return 0;
}

bool fits(const value& row, std::string_view name, const std::string& filter) {
  return lowered(text(row, name)).find(lowered(filter)) != std::string::npos;
}

std::vector<std::string> limit_table(const value& stats, const TopOptions& options) {
  std::vector<const value*> limits = items(stats, "limits");
  std::erase_if(limits, [&](const value* one) { return !fits(*one, "name", options.filter); });
  std::stable_sort(limits.begin(), limits.end(), [&](const value* a, const value* b) {
    const double left_order = order_of(*a, options.sort);
    const double right_order = order_of(*b, options.sort);
    if (left_order != right_order) return left_order > right_order;
    return text(*a, "name") < text(*b, "name");
  });
  if (options.reversed) std::reverse(limits.begin(), limits.end());
  const std::size_t name_columns =
      options.columns > kFixedColumns + 8 ? options.columns - kFixedColumns : 8;
  const auto row = [&](std::string_view name, const std::array<std::string, 4>& numbers,
                       std::string_view end) {
    std::string line = left(name, name_columns);
    for (const std::string& one : numbers) line += ' ' + right(one, kNumberColumns);
    return cut(line + "  " + std::string(end), options.columns);
  };
  std::vector<std::string> lines = {
      row("LIMIT", {"RATE/S", "REFUSED", "LEFT", "WAIT P99"}, "LAST HOUR")};
  for (const value* one : limits) {
    lines.push_back(row(text(*one, "name") + (truth(*one, "shadow") ? " (shadow)" : ""),
                        {amount(number(*one, "rate")), share(number(*one, "refused")),
                         share(number(*one, "fullness", -1)), wait(number(*one, "wait_p99"))},
                        spark(*one, options.blocks)));
  }
  return lines;
}

std::string foot(const TopOptions& options) {
  if (options.typing) return "filter: " + options.filter + "_  (Enter: use, Esc: none)";
  std::string line = options.view == TopView::kKeys ? "keys refused most"
                                                    : "by " + std::string(to_string(options.sort)) +
                                                          (options.reversed ? ", reversed" : "");
  if (!options.filter.empty()) line += ", filter " + options.filter;
  return line + "  | s sort  r reverse  / filter  k keys  arrows scroll  q quit";
}

}  // namespace

std::string_view to_string(TopSort sort) {
  switch (sort) {
    case TopSort::kRate:
      return "rate";
    case TopSort::kRefused:
      return "refused share";
    case TopSort::kLeft:
      return "least left";
    case TopSort::kWait:
      return "wait";
    case TopSort::kName:
      return "name";
  }
  return "";
}

std::vector<std::string> key_table(const value& stats, std::size_t columns) {
  constexpr std::size_t kLimitColumns = 20;
  constexpr std::size_t kCountColumns = 9;
  const std::size_t fixed = kLimitColumns + 2 * kCountColumns + 3;
  const std::size_t key_columns = columns > fixed + 10 ? columns - fixed : 10;
  const auto row = [&](std::string_view key, std::string_view limit, std::string_view recent,
                       std::string_view all) {
    return cut(left(key, key_columns) + ' ' + left(limit, kLimitColumns) + ' ' +
                   right(recent, kCountColumns) + ' ' + right(all, kCountColumns),
               columns);
  };
  std::vector<std::string> lines = {row("KEY", "LIMIT", "LAST MIN", "IN ALL")};
  for (const value* one : items(stats, "keys")) {
    lines.push_back(row(text(*one, "key"), text(*one, "limit"), amount(number(*one, "recent")),
                        amount(number(*one, "denied"))));
  }
  return lines;
}

std::vector<std::string> top_screen(const value& stats, const TopOptions& options) {
  std::vector<std::string> lines = head(stats, options);
  lines.emplace_back();
  std::vector<std::string> table = options.view == TopView::kKeys
                                       ? key_table(stats, options.columns)
                                       : limit_table(stats, options);
  if (options.rows == 0) {
    lines.insert(lines.end(), table.begin(), table.end());
    return lines;
  }
  const std::size_t room = options.rows > lines.size() + 1 ? options.rows - lines.size() - 1 : 0;
  const std::size_t most = table.size() > room ? table.size() - room : 0;
  const auto passed = static_cast<std::ptrdiff_t>(std::min(options.scroll, most));
  if (passed > 0) table.erase(table.begin() + 1, table.begin() + 1 + passed);
  if (table.size() > room) table.resize(room);
  lines.insert(lines.end(), table.begin(), table.end());
  lines.resize(options.rows - 1);
  lines.push_back(cut(foot(options), options.columns));
  return lines;
}

}  // namespace weir::tools
