// Policies with mistakes, and all that is told about them, carets and order included.
//
// testdata/NAME.yaml or .toml is loaded as a user would; NAME.txt is what must be printed. After a
// change that was meant: run with WEIR_ACCEPT=1 set, which writes the files, and read the diff.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "policy/load.h"

namespace weir::policy {
namespace {

const std::filesystem::path kFolder = "src/policy/testdata";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What a person would see of it.
std::string told(const std::filesystem::path& path) {
  LoadOptions options;
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "SECRET") return "hunter2";
    if (name == "EMPTY") return "";
    if (name == "FIVE") return "5";
    return std::nullopt;
  };
  const bool toml = path.extension() == ".toml";
  const Loaded loaded = load_text(path.filename().string(), read(path),
                                  toml ? Format::kToml : Format::kYaml, options);
  std::string out;
  for (const Diagnostic& mistake : loaded.mistakes) out += mistake.to_string();
  for (const Diagnostic& warning : loaded.warnings) out += "warning: " + warning.to_string();
  return out;
}

TEST(Golden, EveryFileIsToldAsItWasAccepted) {
  std::vector<std::filesystem::path> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".txt") continue;
    inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  ASSERT_FALSE(inputs.empty()) << "run from the project's root";
  for (const auto& input : inputs) {
    std::filesystem::path golden = input;
    golden += ".txt";
    const std::string now = told(input);
    EXPECT_EQ(now.find("hunter2"), std::string::npos) << "a secret is printed: " << input;
    if (std::getenv("WEIR_ACCEPT") != nullptr) {
      std::ofstream(golden, std::ios::binary) << now;
    } else {
      EXPECT_EQ(now, read(golden)) << input
                                   << ": if this was meant, set WEIR_ACCEPT=1 and read "
                                      "the diff";
    }
  }
}

}  // namespace
}  // namespace weir::policy
