// weir_manual: prints what the packages say of the command line, made from the definitions that
// parse it.
//
//   weir_manual man TEMPLATE DATE    the man page: the template, with the commands for @COMMANDS@
//   weir_manual bash|zsh|fish        a completion script

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "app/version.h"
#include "text.h"

namespace {

using namespace weir;

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

// Empty when the file cannot be read.
std::string man_page(const std::string& path, const std::string& date) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  replace(text, "@VERSION@", app::version());
  replace(text, "@DATE@", date);
  replace(text, "@COMMANDS@\n", manual::man_commands(app::describe_commands()));
  return text;
}

std::string made(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[0] == "man") return man_page(words[1], words[2]);
  if (words.size() != 1) return {};
  if (words[0] == "bash") return manual::bash_completion(app::describe_commands());
  if (words[0] == "zsh") return manual::zsh_completion(app::describe_commands());
  if (words[0] == "fish") return manual::fish_completion(app::describe_commands());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text = made({argv + 1, argv + argc});
  if (text.empty()) {
    std::fputs("usage: weir_manual man TEMPLATE DATE | bash | zsh | fish\n", stderr);
    return 2;
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}
