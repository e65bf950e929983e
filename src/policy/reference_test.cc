// docs/policy.md holds the reference as it is printed, and the defaults that it prints are true.

#include "policy/reference.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "policy/load.h"
#include "policy/print.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

constexpr const char* kDocument = "docs/policy.md";
constexpr std::string_view kBegin =
    "<!-- begin of the reference: printed by weir_policy_test -->\n";
constexpr std::string_view kEnd = "<!-- end of the reference -->\n";

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Reference, StandsInTheDocsAsTheTablesPrintIt) {
  const std::string document = read(kDocument);
  const std::size_t begin = document.find(kBegin);
  const std::size_t end = document.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << kDocument << " has no line " << kBegin;
  ASSERT_NE(end, std::string::npos) << kDocument << " has no line " << kEnd;
  const std::size_t start = begin + kBegin.size();
  const std::string now = "\n" + reference();
  if (std::getenv("WEIR_ACCEPT") != nullptr) {
    const std::string whole = document.substr(0, start) + now + document.substr(end);
    std::ofstream(kDocument, std::ios::binary) << whole;
    return;
  }
  EXPECT_EQ(document.substr(start, end - start), now)
      << "if the change of the keys was meant, run this test with WEIR_ACCEPT=1 set, which writes "
      << kDocument << ", and read the diff";
}

// A file that writes every default of a section out. Sections that are not built are left out.
std::string all_defaults() {
  std::string out = "limits: []\n";
  for (const SectionDoc& section : document_policy()) {
    if (section.title != "store" && section.title != "identity" && section.title != "response" &&
        section.title != "websocket" && section.title != "paths") {
      continue;
    }
    out += std::string(section.title) + ":\n";
    for (const KeyDoc& key : section.keys) {
      if (key.fallback.empty() || key.fallback == kRequired || not_yet(key.feature)) continue;
      out += "  " + std::string(key.name) + ": " + std::string(key.fallback) + "\n";
    }
  }
  return out;
}

TEST(Reference, PrintsTheDefaultsThatHold) {
  const Loaded nothing = load_text("p.yaml", "limits: []", Format::kYaml);
  const Loaded written = load_text("p.yaml", all_defaults(), Format::kYaml);
  ASSERT_TRUE(nothing.policy && written.policy) << all_defaults();
  EXPECT_EQ(print_yaml(*written.policy), print_yaml(*nothing.policy)) << all_defaults();
}

TEST(Reference, PrintsTheDefaultsOfTheGatewayThatHold) {
  const std::string written =
      "limits: []\ngateway:\n  listen: 127.0.0.1:1\n  upstream:\n    servers: http://a:1\n";
  std::string rest;
  std::string timeouts = "  timeouts:\n";
  std::string upstream;
  std::string eject = "    eject:\n";
  for (const SectionDoc& section : document_policy()) {
    for (const KeyDoc& key : section.keys) {
      if (key.fallback.empty() || key.fallback == kRequired || not_yet(key.feature)) continue;
      const std::string line = std::string(key.name) + ": " + std::string(key.fallback) + "\n";
      if (section.title == "gateway") rest += "  " + line;
      if (section.title == "gateway.upstream") upstream += "    " + line;
      if (section.title == "gateway.upstream.eject") eject += "      " + line;
      if (section.title == "gateway.timeouts") timeouts += "    " + line;
    }
  }
  const Loaded a = load_text("p.yaml", written + upstream + eject + rest + timeouts, Format::kYaml);
  const Loaded b = load_text("p.yaml", written, Format::kYaml);
  ASSERT_TRUE(a.policy && b.policy);
  EXPECT_EQ(print_yaml(*a.policy), print_yaml(*b.policy));
}

TEST(Examples, LoadWithoutAWord) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != ".yaml" && path.extension() != ".toml") continue;
    const Loaded loaded = load_file(path.string());
    EXPECT_TRUE(loaded.mistakes.empty()) << loaded.mistakes.front().to_string();
    EXPECT_TRUE(loaded.warnings.empty()) << loaded.warnings.front().to_string();
    ++count;
  }
  EXPECT_GT(count, 0u);
}

// The text between ```LANGUAGE and ```, from `at` on; moves `at` behind it.
std::string next_block(const std::string& document, const std::string& language, std::size_t& at) {
  const std::string open = "```" + language + "\n";
  const std::size_t begin = document.find(open, at);
  if (begin == std::string::npos) return "";
  const std::size_t start = begin + open.size();
  at = document.find("```", start);
  return document.substr(start, at - start);
}

TEST(Examples, OfTheDocsGiveOnePolicyInBothLanguages) {
  const std::string document = read(kDocument);
  std::size_t at = 0;
  const std::string yaml = next_block(document, "yaml", at);
  const std::string toml = next_block(document, "toml", at);
  const Loaded a = load_text("p", yaml, Format::kYaml);
  const Loaded b = load_text("p", toml, Format::kToml);
  ASSERT_TRUE(a.policy && b.policy);
  EXPECT_EQ(print_yaml(*a.policy), print_yaml(*b.policy));
}

}  // namespace
}  // namespace weir::policy
