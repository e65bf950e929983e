#include "scenario/scenario.h"

#include <algorithm>
#include <map>

#include "scenario/units.h"

namespace weir::scenario {
namespace {

using Words = std::vector<std::string_view>;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalid, std::move(message)};
}

Error bad_word(std::string_view what, std::string_view word) {
  return invalid(std::string(what) + " '" + std::string(word) + "' is not one");
}

// The name=value words of a limit line.
class Settings {
 public:
  std::optional<std::string_view> find(std::string_view name) const {
    const auto it = values_.find(name);
    if (it == values_.end()) return std::nullopt;
    return it->second;
  }
  void add(std::string_view name, std::string_view value) { values_[name] = value; }

  Result<std::uint64_t> count(std::string_view name) const {
    return required<std::uint64_t>(name, parse_count);
  }
  Result<Duration> duration(std::string_view name) const {
    return required<Duration>(name, parse_duration);
  }
  Result<Rate> rate() const { return required<Rate>("rate", parse_rate); }

  Result<Align> align() const {
    const std::string_view word = find("align").value_or("epoch");
    if (word == "epoch") return Align::kEpoch;
    if (word == "first") return Align::kFirst;
    return bad_word("align", word);
  }

 private:
  template <typename T, typename Parse>
  Result<T> required(std::string_view name, Parse parse) const {
    const auto text = find(name);
    if (!text) return invalid("a limit of this algorithm needs " + std::string(name) + "=");
    const std::optional<T> value = parse(*text);
    if (!value) return bad_word(name, *text);
    return *value;
  }

  std::map<std::string_view, std::string_view> values_;
};

std::optional<CalendarUnit> calendar_unit(std::string_view word) {
  static constexpr std::string_view kUnits[] = {"minute", "hour", "day", "week", "month", "year"};
  const auto* unit = std::find(std::begin(kUnits), std::end(kUnits), word);
  if (unit == std::end(kUnits)) return std::nullopt;
  return static_cast<CalendarUnit>(unit - std::begin(kUnits));
}

Result<Numbers> fixed_window(const Settings& settings) {
  const auto limit = settings.count("limit");
  if (!limit) return limit.error();
  if (const auto unit = calendar_unit(settings.find("window").value_or(""))) {
    return Numbers(FixedWindow{
        *limit, Calendar{*unit, std::string(settings.find("timezone").value_or("UTC"))}});
  }
  const auto window = settings.duration("window");
  if (!window) return window.error();
  const auto align = settings.align();
  if (!align) return align.error();
  return Numbers(FixedWindow{*limit, *window, *align});
}

Result<Numbers> bucket(const Settings& settings, bool leaky) {
  const auto rate = settings.rate();
  if (!rate) return rate.error();
  const auto size = settings.count(leaky ? "queue" : "burst");
  if (!size) return size.error();
  if (leaky) return Numbers(LeakyBucket{*rate, *size});
  return Numbers(TokenBucket{*rate, *size});
}

Result<Numbers> sliding(std::string_view algorithm, const Settings& settings) {
  const auto limit = settings.count("limit");
  if (!limit) return limit.error();
  const auto span = settings.duration(algorithm == "concurrency" ? "timeout" : "window");
  if (!span) return span.error();
  if (algorithm == "concurrency") return Numbers(Concurrency{*limit, *span});
  if (algorithm == "sliding_log") return Numbers(SlidingLog{*limit, *span});
  const auto align = settings.align();
  if (!align) return align.error();
  return Numbers(SlidingCounter{*limit, *span, *align});
}

Result<Numbers> numbers_of(std::string_view algorithm, const Settings& settings) {
  if (algorithm == "token_bucket") return bucket(settings, false);
  if (algorithm == "leaky_bucket") return bucket(settings, true);
  if (algorithm == "fixed_window") return fixed_window(settings);
  if (algorithm == "unlimited") return Numbers(Unlimited{});
  if (algorithm == "sliding_log" || algorithm == "sliding_counter" || algorithm == "concurrency") {
    return sliding(algorithm, settings);
  }
  return bad_word("algorithm", algorithm);
}

Keys keys_of(std::string_view word) {
  Keys keys;
  if (word.find('=') == std::string_view::npos) {
    keys.all = word;
    return keys;
  }
  while (!word.empty()) {
    const std::string_view pair = word.substr(0, word.find(','));
    word.remove_prefix(std::min(word.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    keys.each.emplace_back(pair.substr(0, equals), pair.substr(std::min(pair.size(), equals + 1)));
  }
  return keys;
}

Result<bool> add_detail(Expectation& expected, std::string_view name, std::string_view value) {
  if (name == "by") {
    expected.by = value;
    return true;
  }
  if (name == "left") {
    expected.left = parse_count(value);
    if (!expected.left) return bad_word("left", value);
    return true;
  }
  const std::map<std::string_view, std::optional<Duration>*> durations = {
      {"retry", &expected.retry},
      {"reset", &expected.reset},
      {"delay", &expected.delay},
      {"next", &expected.next}};
  const auto field = durations.find(name);
  if (field == durations.end()) return bad_word("expectation", name);
  *field->second = parse_duration(value);
  if (!*field->second) return bad_word(name, value);
  return true;
}

Result<Expectation> expectation_of(const Words& words) {
  Expectation expected;
  if (words.empty()) return invalid("'->' wants allow, deny or never after it");
  if (words[0] == "deny") {
    expected.outcome = Outcome::kDenied;
  } else if (words[0] == "never") {
    expected.outcome = Outcome::kNever;
  } else if (words[0] != "allow") {
    return bad_word("outcome", words[0]);
  }
  if (words.size() % 2 == 0) return invalid("each detail is a word and a value");
  for (std::size_t i = 1; i < words.size(); i += 2) {
    if (auto added = add_detail(expected, words[i], words[i + 1]); !added) return added.error();
  }
  return expected;
}

Result<Action> many(Take take, std::string_view times, const Words& after) {
  const auto calls = parse_count(times);
  const auto allowed = after.size() == 2 ? parse_count(after[0]) : std::nullopt;
  if (!calls || !allowed || after[1] != "allowed") return invalid("want 'xN -> M allowed'");
  return Action(TakeMany{std::move(take.keys), take.cost, *calls, *allowed});
}

Result<Action> every(Take take, std::string_view pause, const Words& after) {
  const auto step = parse_duration(pause);
  std::string outcomes;
  for (const std::string_view part : after) outcomes += part;
  if (!step || outcomes.empty() || outcomes.find_first_not_of("ADN") != std::string::npos) {
    return invalid("want 'every S -> AADN...'");
  }
  return Action(TakeEvery{std::move(take.keys), take.cost, *step, std::move(outcomes)});
}

// KEY COST [xN | every S] -> ...
Result<Action> take_of(const Words& words) {
  const auto arrow = std::find(words.begin(), words.end(), "->");
  const Words before(words.begin(), arrow);
  if (arrow == words.end() || before.size() < 2) return invalid("want 'TIME KEY COST -> ANSWER'");
  const Words after(arrow + 1, words.end());
  const auto cost = parse_count(before[1]);
  if (!cost) return bad_word("cost", before[1]);
  Take take{keys_of(before[0]), *cost, {}};
  if (before.size() == 3 && before[2].starts_with('x')) {
    return many(std::move(take), before[2].substr(1), after);
  }
  if (before.size() == 4 && before[2] == "every") return every(std::move(take), before[3], after);
  if (before.size() != 2) return invalid("after the cost comes xN, 'every S' or '->'");
  auto expected = expectation_of(after);
  if (!expected) return expected.error();
  take.expected = *std::move(expected);
  return Action(std::move(take));
}

std::optional<Change> change_of(std::string_view word) {
  if (word == "refund") return Change::kRefund;
  if (word == "overdraw") return Change::kOverdraw;
  if (word == "renew") return Change::kRenew;
  return std::nullopt;
}

// refund KEY COST [charged TIME]
Result<Action> correct_of(Change change, const Words& words) {
  const bool dated = words.size() == 5 && words[3] == "charged";
  const auto cost = words.size() >= 3 ? parse_count(words[2]) : std::nullopt;
  if (!cost || (words.size() != 3 && !dated)) {
    return invalid("want 'TIME " + std::string(words[0]) + " KEY COST [charged TIME]'");
  }
  Correct correct{change, keys_of(words[1]), *cost, std::nullopt};
  if (dated) correct.charged = parse_seconds(words[4]);
  return Action(std::move(correct));
}

Result<Action> action_of(const Words& words) {
  if (const auto change = change_of(words[0])) return correct_of(*change, words);
  if (words[0] == "reset" && words.size() == 2) return Action(Reset{keys_of(words[1])});
  if (words[0] == "limit") {
    auto limit = parse_limit(Words(words.begin() + 1, words.end()));
    if (!limit) return limit.error();
    return Action(*std::move(limit));
  }
  if (words[0] == "wall" && words.size() == 2) {
    const auto by = parse_seconds(words[1]);
    if (!by) return bad_word("step", words[1]);
    return Action(WallStep{*by});
  }
  return take_of(words);
}

Result<bool> add_line(Scenario& scenario, const Words& words, int line) {
  if (words[0] == "start" && words.size() == 2) {
    const auto start = parse_instant(words[1]);
    if (!start) return bad_word("start", words[1]);
    scenario.start = at_ns(*start);
    return true;
  }
  if (words[0] == "limit") {
    auto limit = parse_limit(Words(words.begin() + 1, words.end()));
    if (!limit) return limit.error();
    scenario.limits.push_back(*std::move(limit));
    return true;
  }
  const auto at = parse_seconds(words[0]);
  if (!at) return bad_word("time", words[0]);
  if (words.size() < 2) return invalid("a time wants something to do after it");
  auto action = action_of(Words(words.begin() + 1, words.end()));
  if (!action) return action.error();
  scenario.steps.push_back(Step{line, *at, *std::move(action)});
  return true;
}

}  // namespace

std::optional<std::string> Keys::of(std::string_view limit) const {
  if (each.empty()) return all;
  for (const auto& [name, key] : each) {
    if (name == limit) return key;
  }
  return std::nullopt;
}

Words split_words(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  line = line.substr(0, line.find('#'));
  Words words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find_first_of(kBlanks)));
    line.remove_prefix(words.back().size());
  }
}

Result<Limit> parse_limit(const Words& words) {
  if (words.size() < 2) return invalid("want 'limit NAME ALGORITHM NUMBER=VALUE...'");
  std::vector<Settings> pairs(1);
  bool shadow = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (words[i] == "shadow") {
      shadow = true;
    } else if (words[i] == "and") {
      pairs.emplace_back();
    } else if (equals == std::string_view::npos) {
      return bad_word("number", words[i]);
    } else {
      pairs.back().add(words[i].substr(0, equals), words[i].substr(equals + 1));
    }
  }
  std::vector<Numbers> all;
  for (const Settings& settings : pairs) {
    auto numbers = numbers_of(words[1], settings);
    if (!numbers) return numbers.error();
    all.push_back(*std::move(numbers));
  }
  return Limit{std::string(words[0]), all[0], shadow, {all.begin() + 1, all.end()}};
}

Result<Scenario> parse(std::string_view text) {
  constexpr std::int64_t kNewYear2026 = 1'767'225'600'000'000'000;
  Scenario scenario;
  scenario.start = at_ns(kNewYear2026);
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    const Words words = split_words(row);
    if (words.empty()) continue;
    if (auto added = add_line(scenario, words, line); !added) {
      return invalid("line " + std::to_string(line) + ": " + added.error().message);
    }
  }
  return scenario;
}

}  // namespace weir::scenario
