// Secrets, variables and what a terminal would obey never reach a message.

#include <gtest/gtest.h>

#include "policy/load.h"
#include "policy/mask.h"
#include "policy/testing.h"

namespace weir::policy {
namespace {

TEST(Secrets, NeverShowsWhatAVariableHolds) {
  const std::string text =
      "limits:\n"
      "  - name: ${SECRET} x\n"
      "    algorithm: token_bucket\n"
      "    rate: ${SECRET}\n"
      "    key: [\"${SECRET}\"]\n"
      "    match: { header.x-a: \"~${SECRET}(\", ip: \"${SECRET}\", path: \"${SECRET}\" }\n"
      "    mode: ${SECRET}\n"
      "    cost: ${SECRET}\n"
      "store: { url: \"${SECRET}\", prefix: [\"${SECRET}\"] }\n"
      "gateway: { listen: \"${SECRET}\", upstream: \"http://${SECRET}/x\" }\n";
  const Loaded loaded = load_text("p.yaml", text, Format::kYaml, with({{"SECRET", "hunter2"}}));
  EXPECT_GE(loaded.mistakes.size(), 10u);
  for (const Diagnostic& mistake : loaded.mistakes) {
    EXPECT_EQ(mistake.to_string().find("hunter2"), std::string::npos) << mistake.to_string();
  }
}

TEST(Secrets, HidesSecretsInLinesThatNeverBecomeValues) {
  for (const char* text : {
           "limits: []\nadmin:\n  token: \"hunter2\n",
           "limits: []\nadmin:\n  token: a\n  token: hunter2\n",
           "limits: []\nresp: { \"password\" : hunter2, listen: x }\nfoo: 'a\n",
           "limits: []\nstore: { url: redis://u:hunter2@h/0, url: redis://u:hunter2@h/0 }\n",
           "limits: [] x token: hunter2\n",
       }) {
    for (const Format format : {Format::kYaml, Format::kToml}) {
      const Loaded loaded = load_text("p", text, format, with({}));
      ASSERT_FALSE(loaded.mistakes.empty());
      for (const Diagnostic& mistake : loaded.mistakes) {
        EXPECT_EQ(mistake.to_string().find("hunter2"), std::string::npos) << mistake.to_string();
      }
    }
  }
}

TEST(Secrets, PrintsNothingThatMovesATerminalsCursor) {
  const Loaded loaded = load_text(
      "p.yaml", "limits: [{ name: \"\\e[2J\", algorithm: a, match: { path: \"\\e[2J\" } }] #\x1b\n",
      Format::kYaml, with({}));
  ASSERT_FALSE(loaded.mistakes.empty());
  for (const Diagnostic& mistake : loaded.mistakes) {
    EXPECT_EQ(mistake.to_string().find('\x1b'), std::string::npos);
  }
}

TEST(Mask, HidesTheValuesOfSecretKeysAndNothingElse) {
  const struct {
    const char* line;
    const char* right;
  } rows[] = {
      {"token: abc", "token: ***"},
      {"  token: \"abc\" # why", "  token: \"***\" # why"},
      {"token = 'abc'", "token = '***'"},
      {"\"token\": \"abc", "\"token\": \"***"},
      {"{ token: abc, listen: x }", "{ token: ***, listen: x }"},
      {"password:abc", "password:***"},
      {"token:", "token:"},
      {"token", "token"},
      {"header.x-token: abc", "header.x-token: abc"},
      {"tokens: 5", "tokens: 5"},
      {"url: redis://user:abc@host:1/0", "url: redis://********@host:1/0"},
      {"url: redis://host:1/0 # a@b", "url: redis://host:1/0 # a@b"},
  };
  for (const auto& row : rows) {
    std::string line = row.line;
    mask_secrets(line);
    EXPECT_EQ(line, row.right);
  }
}

}  // namespace
}  // namespace weir::policy
