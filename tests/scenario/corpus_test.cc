// Every scenario of the corpus, on the pure function, the memory store, the engine and the oracle.

#include <gtest/gtest.h>

#include <string>

#include "oracle/oracle.h"
#include "scenario/corpus.h"
#include "scenario/engine_target.h"
#include "scenario/run.h"
#include "scenario/targets.h"
#include "store/memory/memory_store.h"

namespace weir::scenario {
namespace {

class Corpus : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_right_on(Target& target) {
    for (const std::string& failure : run(load(GetParam()), target)) {
      ADD_FAILURE() << GetParam() << ".scenario: " << failure;
    }
  }
};

TEST_P(Corpus, HoldsForThePureFunction) {
  PureTarget target;
  expect_right_on(target);
}

TEST_P(Corpus, HoldsForTheMemoryStore) {
  store::MemoryStore store;
  StoreTarget target(store);
  expect_right_on(target);
}

TEST_P(Corpus, HoldsForTheEngine) {
  EngineTarget target(load(GetParam()));
  expect_right_on(target);
}

TEST_P(Corpus, HoldsForTheOracle) {
  const Scenario scenario = load(GetParam());
  for (const Step& step : scenario.steps) {
    if (std::holds_alternative<Limit>(step.action) ||
        std::holds_alternative<WallStep>(step.action)) {
      GTEST_SKIP() << "the oracle knows no reloads and no steps of the wall clock";
    }
  }
  oracle::Oracle target;
  expect_right_on(target);
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, ::testing::ValuesIn(corpus()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace weir::scenario
