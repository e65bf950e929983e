// The command line told as plain text: what the man page and the shells' completions are made of
// (packaging/manual), from the same definitions that parse it.
//
// THREADS: a pure function.

#pragma once

#include <string>
#include <vector>

namespace weir::app {

struct OptionText {
  std::vector<std::string> names;  // "-c", "--config"; empty for a word without a name
  std::string value;               // what it takes, "FILE"; empty for a flag
  std::string about;
  std::string default_value;
  bool required = false;
  bool repeatable = false;
};

struct CommandText {
  std::string name;
  std::string about;
  std::vector<OptionText> options;
};

// The program itself, then its commands in the order of --help.
std::vector<CommandText> describe_commands();

}  // namespace weir::app
