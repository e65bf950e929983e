#include "app/command_line.h"

#include <gtest/gtest.h>

#include "app/command_text.h"

namespace weir::app {
namespace {

Command parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "weir");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, TakesSeveralLimits) {
  const Command command = parse({"serve", "--upstream", "http://127.0.0.1:3000", "--limit",
                                 "10/s by ip", "--limit", "1/s on POST /login"});
  const auto& serve = std::get<ServeOptions>(command);
  EXPECT_EQ(serve.limits, (std::vector<std::string>{"10/s by ip", "1/s on POST /login"}));
  EXPECT_EQ(serve.listen, "127.0.0.1:8080");
}

TEST(CommandLine, ExplainsARequestByTheFilesItValidates) {
  const Command command = parse({"validate", "a.yaml", "--explain", "GET / user=1"});
  const auto& validate = std::get<ValidateOptions>(command);
  EXPECT_EQ(validate.files, std::vector<std::string>{"a.yaml"});
  EXPECT_EQ(validate.explain, "GET / user=1");
}

TEST(CommandLine, RefusesWrongUsageWithTwoAndTheWayToHelp) {
  const std::vector<std::vector<const char*>> wrong = {
      {},
      {"sevre"},
      {"serve"},
      {"serve", "--upstream", "http://a"},
      {"serve", "-c", "a.yaml", "--upstream", "http://a", "--limit", "1/s"},
      {"serve", "--limit", "1/s"},
      {"validate"},
      {"demo", "--port", "1"},
  };
  for (const auto& arguments : wrong) {
    const Command command = parse(arguments);
    const auto* finished = std::get_if<Finished>(&command);
    ASSERT_NE(finished, nullptr) << (arguments.empty() ? "" : arguments.back());
    EXPECT_EQ(finished->exit_code, kExitUsage);
    EXPECT_NE(finished->text.find("see weir "), std::string::npos);
    EXPECT_NE(finished->text.find("--help"), std::string::npos);
  }
}

TEST(CommandLine, NamesTheHelpOfTheCommandThatWasMeant) {
  const auto finished = std::get<Finished>(parse({"serve", "a.yaml"}));
  EXPECT_NE(finished.text.find("see weir serve --help"), std::string::npos) << finished.text;
}

TEST(CommandLine, TakesHelpAsACommandToo) {
  const auto text = [](const Command& command) { return std::get<Finished>(command).text; };
  EXPECT_EQ(text(parse({"help"})), text(parse({"--help"})));
  EXPECT_EQ(text(parse({"help", "serve"})), text(parse({"serve", "--help"})));
  EXPECT_EQ(std::get<Finished>(parse({"help", "serve"})).exit_code, kExitOk);
}

TEST(CommandLine, NamesTheCommandsWhereOneIsUnknown) {
  const auto finished = std::get<Finished>(parse({"sevre", "-c", "a.yaml"}));
  EXPECT_NE(finished.text.find("unknown command 'sevre', did you mean serve? There are serve, "),
            std::string::npos)
      << finished.text;
}

TEST(CommandLine, HelpNamesEveryCommandAndExitsZero) {
  const auto finished = std::get<Finished>(parse({"--help"}));
  EXPECT_EQ(finished.exit_code, kExitOk);
  for (const char* word : {"serve", "validate", "demo", "--version", "exit codes"}) {
    EXPECT_NE(finished.text.find(word), std::string::npos) << word;
  }
}

TEST(CommandLine, IsToldAsText) {
  const std::vector<CommandText> commands = describe_commands();
  EXPECT_EQ(commands.front().name, "weir");
  EXPECT_EQ(commands[1].name, "serve");
  const auto told = [&](const char* name) {
    for (const OptionText& option : commands[1].options) {
      if (option.names.back() == name) return option;
    }
    return OptionText{};
  };
  EXPECT_EQ(told("--config").names, (std::vector<std::string>{"-c", "--config"}));
  EXPECT_EQ(told("--config").value, "FILE");
  EXPECT_EQ(told("--limit").value, "LIMIT");
  EXPECT_TRUE(told("--limit").repeatable);
  EXPECT_EQ(told("--loops").value, "N");
  EXPECT_EQ(told("--listen").default_value, "127.0.0.1:8080");
  EXPECT_EQ(told("--help").value, "");
  EXPECT_EQ(commands[2].options.at(1).value, "FILE");
  EXPECT_TRUE(commands[2].options.at(1).required);
}

TEST(CommandLine, VersionNamesTheProgramAndItsCommit) {
  const auto finished = std::get<Finished>(parse({"--version"}));
  EXPECT_EQ(finished.exit_code, kExitOk);
  EXPECT_EQ(finished.text.rfind("weir 0.", 0), 0u) << finished.text;
}

}  // namespace
}  // namespace weir::app
