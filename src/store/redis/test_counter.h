// One counter of one rule in a real server, driven by hand through the scripts. Tests only.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "store/redis/counter_rule.h"
#include "store/redis/script.h"
#include "support/redis_server.h"
#include "wire/resp/writer.h"

namespace weir::store::redis {

inline CounterRule compile(const Numbers& numbers) {
  const auto rule = limit::Rule::make(numbers);
  EXPECT_TRUE(rule.has_value());
  auto made = CounterRule::make(*rule);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return std::move(*made);
}

class Counter {
 public:
  Counter(support::RedisClient& client, const Numbers& numbers, std::string key)
      : client_(client), rule_(compile(numbers)), key_(std::move(key)) {}

  const CounterRule& rule() const { return rule_; }
  void use(const Numbers& numbers) { rule_ = compile(numbers); }

  struct Outcome {
    bool admitted = false;
    Verdict verdict;
  };

  Outcome charge(std::uint64_t cost, std::int64_t now_us) {
    std::string old_value;
    std::string new_value;
    for (rounds_ = 1; rounds_ <= 3; ++rounds_) {
      std::string call = begun(charge_script(), now_us, std::nullopt);
      CounterRule::Request request;
      request.cost = cost;
      request.now_us = now_us;
      request.old_value = old_value;
      request.new_value = new_value;
      rule_.append_charge(call, request);
      const resp::Reply reply = client_.send(call);
      EXPECT_FALSE(reply.is_error()) << reply.text();
      if (reply.at(0).is_text()) {
        old_value = reply.at(3).text();
        const auto adopted = rule_.adopt(old_value, now_us);
        EXPECT_TRUE(adopted.has_value()) << old_value;
        new_value = adopted.value_or("");
        continue;
      }
      CounterRule::View view;
      for (std::size_t i = 0; i < 4; ++i) view.at[i] = reply.at(3 + i).integer();
      const Outcome outcome{reply.at(1).integer() == 1, rule_.decide(view, cost, now_us)};
      EXPECT_EQ(outcome.admitted, outcome.verdict.allowed());
      return outcome;
    }
    ADD_FAILURE() << "asked again and again";
    return {};
  }

  // How often the last charge was sent.
  int rounds() const { return rounds_; }

  Outcome charge_lean(std::uint64_t cost, std::int64_t now_us) {
    std::string call;
    bucket_script().append_eval(call, 3 + CounterRule::kLeanArguments);
    resp::append_argument(call, "1");
    resp::append_argument(call, key_);
    rule_.append_lean(call, cost);
    resp::append_argument(call, now_us);
    const resp::Reply reply = client_.send(call);
    EXPECT_TRUE(reply.is(resp::Type::kInteger)) << reply.text();
    const CounterRule::View view = rule_.lean_view(reply.integer(), cost);
    return {reply.integer() >= 0 && cost <= rule_.quota(), rule_.decide(view, cost, now_us)};
  }

  void refund(std::uint64_t cost, std::int64_t now_us, std::optional<std::int64_t> at) {
    EXPECT_EQ(correct(Change::kGiveBack, cost, now_us, at).outcome, Correction::Outcome::kMade);
  }

  using Once = std::optional<std::pair<std::string, std::int64_t>>;  // a name and until when

  Correction correct(Change change, std::uint64_t cost, std::int64_t now_us,
                     std::optional<std::int64_t> at, const Once& once = std::nullopt) {
    std::string call = begun(correct_script(), now_us, once);
    CounterRule::Request request;
    request.cost = cost;
    request.now_us = now_us;
    request.charged_at_us = at;
    request.change = change;
    rule_.append_correction(call, request);
    const resp::Reply reply = client_.send(call);
    EXPECT_TRUE(reply.is_list()) << reply.text();
    const std::int64_t answer = reply.at(0).integer();
    EXPECT_EQ(reply.at(1).integer(), now_us);
    using Became = Correction::Outcome;
    Correction correction;
    correction.outcome = answer > 0    ? Became::kMade
                         : answer == 0 ? Became::kSpent
                                       : Became::kTooLate;
    if (answer > 0) correction.found = static_cast<std::uint32_t>(answer - 1);
    return correction;
  }

 private:
  // A call up to where the counter's own arguments begin: the keys, the time, how long `once`
  // holds.
  std::string begun(const Script& script, std::int64_t now_us, const Once& once) const {
    std::string call;
    script.append_eval(call, (once ? 5 : 4) + CounterRule::kArguments);
    resp::append_argument(call, once ? "2" : "1");
    resp::append_argument(call, key_);
    if (once) resp::append_argument(call, once->first);
    resp::append_argument(call, now_us);
    if (once) {
      resp::append_argument(call, once->second);
    } else {
      resp::append_argument(call, "");
    }
    return call;
  }

  support::RedisClient& client_;
  CounterRule rule_;
  std::string key_;
  int rounds_ = 0;
};

}  // namespace weir::store::redis
