// weir-oracle: says what must be answered to a trace on standard input, so that a test in any
// language can compare a running gateway with it. Not installed.
//
// First the limits, in file order, as scenarios write them (tests/scenario/scenario.h):
//
//   limit global token_bucket rate=100/s burst=200
//   limit per_ip sliding_counter limit=10 window=60s
//   limit trial fixed_window limit=5 window=60s shadow
//
// then one line for each request, in the order in which they are decided: the time in nanoseconds
// since the epoch, and for each limit that the request meets its name, key and cost. A key is any
// text without blanks and '#' (percent-encode others; "-" for a limit without a key).
//
//   1767225600000000000 global - 1 per_ip 203.0.113.7 1
//
// For each request one line comes back, at once:
//
//   allow NAME | global allow 199 0 1000000 0 1000000 | per_ip allow 9 0 120000000000 0 ...
//
// the decision (allow or deny), the limit that it names ("-" where none), then for each limit met
// what each of its pairs of numbers says alone: its outcome (allow, deny, never), remaining, and in
// nanoseconds retry_after, reset_after, delay and next_after. Empty lines and comments give none. A
// line that is wrong ends it with exit code 2 and a message that names the line.

#include <cstdio>
#include <iostream>
#include <string>

#include "oracle/oracle.h"
#include "scenario/scenario.h"
#include "scenario/units.h"

namespace weir::oracle {
namespace {

class Trace {
 public:
  // One line of output, or an empty one where the line asks nothing.
  Result<std::string> answer(std::string_view line) {
    const auto words = scenario::split_words(line);
    if (words.empty()) return std::string();
    if (words[0] == "limit") return add_limit({words.begin() + 1, words.end()});
    return request(words);
  }

 private:
  static Error invalid(std::string message) {
    return Error{ErrorCode::kInvalid, std::move(message)};
  }

  Result<std::string> add_limit(const std::vector<std::string_view>& words) {
    auto limit = scenario::parse_limit(words);
    if (!limit) return limit.error();
    limits_.push_back(std::make_unique<scenario::Limit>(*std::move(limit)));
    return std::string();
  }

  Result<std::string> request(const std::vector<std::string_view>& words) {
    const auto now = scenario::parse_instant(words[0]);
    if (!now || words.size() % 3 != 1) return invalid("want 'TIME (NAME KEY COST)...'");
    std::vector<scenario::Met> met;
    for (std::size_t i = 1; i < words.size(); i += 3) {
      const scenario::Limit* limit = find(words[i]);
      const auto cost = scenario::parse_count(words[i + 2]);
      if (limit == nullptr) return invalid("no limit is named '" + std::string(words[i]) + "'");
      if (!cost) return invalid("cost '" + std::string(words[i + 2]) + "' is no whole number");
      scenario::meet(*limit, std::string(words[i + 1]), *cost, met);
    }
    return text(met, oracle_.take(met, at_ns(*now)));
  }

  const scenario::Limit* find(std::string_view name) const {
    for (const auto& limit : limits_) {
      if (limit->name == name) return limit.get();
    }
    return nullptr;
  }

  static std::string text(const std::vector<scenario::Met>& met, const scenario::Reply& reply) {
    const auto name = scenario::named(met, reply);
    std::string line = reply.admitted ? "allow " : "deny ";
    line += name ? met[*name].limit->name : "-";
    for (std::size_t i = 0; i < met.size(); ++i) {
      const Verdict& verdict = reply.verdicts[i];
      line += " | " + met[i].limit->name;
      line += verdict.allowed()                     ? " allow"
              : verdict.outcome == Outcome::kDenied ? " deny"
                                                    : " never";
      line += " " + std::to_string(verdict.remaining);
      for (const Duration d :
           {verdict.retry_after, verdict.reset_after, verdict.delay, verdict.next_after}) {
        line += " " + std::to_string(d.count());
      }
    }
    return line;
  }

  std::vector<std::unique_ptr<scenario::Limit>> limits_;
  Oracle oracle_;
};

int run() {
  Trace trace;
  std::string line;
  for (int number = 1; std::getline(std::cin, line); ++number) {
    const auto answer = trace.answer(line);
    if (!answer) {
      std::fprintf(stderr, "line %d: %s\n", number, answer.error().message.c_str());
      return 2;
    }
    if (answer->empty()) continue;
    std::puts(answer->c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace weir::oracle

int main() {
  return weir::oracle::run();
}
