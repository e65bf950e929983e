// The corpus of scenarios, for programs that define WEIR_SCENARIOS, its folder. Tests only.
//
// THREADS: pure functions.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "scenario/scenario.h"

namespace weir::scenario {

// The names of all scenarios.
inline std::vector<std::string> corpus() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(WEIR_SCENARIOS)) {
    if (file.path().extension() == ".scenario") names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// One that cannot be read fails the test.
inline Scenario load(const std::string& name) {
  std::ifstream file(std::string(WEIR_SCENARIOS) + "/" + name + ".scenario");
  std::stringstream text;
  text << file.rdbuf();
  auto scenario = parse(text.str());
  EXPECT_TRUE(scenario.has_value()) << name << ": " << scenario.error().message;
  if (!scenario) return {};
  EXPECT_FALSE(scenario->steps.empty()) << name << " asks nothing";
  return *std::move(scenario);
}

}  // namespace weir::scenario
