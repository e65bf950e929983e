#include <algorithm>

#include "text.h"

namespace weir::manual {

bool is_file(const std::string& value) {
  return value == "FILE" || value == "SOCKET" || value == "PATH" || value == "LOG";
}

bool is_named(const app::OptionText& option) {
  return !option.names.empty();
}

namespace {

// In single quotes for a shell; `close` says how a single quote is written within.
std::string quoted(const std::string& text, const char* close) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += close : out += c;
  return out + "'";
}

std::string names_of(const app::CommandText& command) {
  std::string out;
  for (const app::OptionText& option : command.options) {
    for (const std::string& name : option.names) out += (out.empty() ? "" : " ") + name;
  }
  return out;
}

bool takes_files(const app::CommandText& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const auto& option) { return !is_named(option) && is_file(option.value); });
}

// The names of all options, of every command, whose value is a file (or is none), for a shell's
// `case`.
std::string pattern_of_values(const Commands& commands, bool files) {
  std::vector<std::string> names;
  for (const app::CommandText& command : commands) {
    for (const app::OptionText& option : command.options) {
      if (option.value.empty() || is_file(option.value) != files) continue;
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : "|") + name;
  return out;
}

// An argument's description within the brackets of zsh's _arguments.
std::string zsh_about(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// NAME[about]:VALUE:action, one for each name.
std::string zsh_option(const app::OptionText& option) {
  const std::string value = zsh_about(option.value);
  const std::string action = is_file(option.value) ? "_files" : " ";
  std::string out;
  if (!is_named(option)) {
    const std::string place = option.repeatable ? "*:" : ":";
    return " \\\n        " + quoted(place + value + ":" + action, "'\\''");
  }
  for (const std::string& name : option.names) {
    std::string word = (option.repeatable ? "*" : "") + name + "[" + zsh_about(option.about) + "]";
    if (!option.value.empty()) word += ":" + value + ":" + action;
    out += " \\\n        " + quoted(word, "'\\''");
  }
  return out;
}

std::string fish_option(const app::OptionText& option, const std::string& condition) {
  std::string out = "complete -c weir -n " + quoted(condition, "\\'");
  for (const std::string& name : option.names) {
    out += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.empty()) out += is_file(option.value) ? " -r -F" : " -x";
  return out + " -d " + quoted(option.about, "\\'") + "\n";
}

}  // namespace

std::string bash_completion(const Commands& commands) {
  std::string words, cases;
  for (std::size_t i = 1; i < commands.size(); ++i) {
    words += commands[i].name + " ";
    cases += "    " + commands[i].name + ") words='" + names_of(commands[i]) + "'" +
             (takes_files(commands[i]) ? " files=1" : "") + " ;;\n";
  }
  return "# bash completion of weir(1), made by weir_manual.\n"
         "_weir() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local words='' files=''\n"
         "  COMPREPLY=()\n"
         "  case $previous in\n"
         "    " +
         pattern_of_values(commands, true) +
         ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
         "    " +
         pattern_of_values(commands, false) +
         ") return ;;\n"
         "  esac\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         words + names_of(commands.front()) +
         "' -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $current != -* && $files ]]; then\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _weir weir\n";
}

std::string zsh_completion(const Commands& commands) {
  std::string names, cases, own;
  for (const app::OptionText& option : commands.front().options) own += zsh_option(option);
  for (std::size_t i = 1; i < commands.size(); ++i) {
    names +=
        "        " + quoted(commands[i].name + ":" + zsh_about(commands[i].about), "'\\''") + "\n";
    cases += "    " + commands[i].name + ")\n      _arguments";
    for (const app::OptionText& option : commands[i].options) cases += zsh_option(option);
    cases += " ;;\n";
  }
  return "#compdef weir\n"
         "# zsh completion of weir(1), made by weir_manual.\n"
         "_weir() {\n"
         "  local state line\n"
         "  local -a commands\n"
         "  _arguments -C" +
         own +
         " \\\n        '1: :->command' \\\n        '*:: :->arguments'\n"
         "  case $state in\n"
         "    command)\n"
         "      commands=(\n" +
         names +
         "      )\n"
         "      _describe command commands\n"
         "      return ;;\n"
         "  esac\n"
         "  [[ $state == arguments ]] || return\n"
         "  case $line[1] in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_weir \"$@\"\n";
}

std::string fish_completion(const Commands& commands) {
  std::string out =
      "# fish completion of weir(1), made by weir_manual.\n"
      "complete -c weir -f\n";
  for (const app::OptionText& option : commands.front().options) {
    out += fish_option(option, "__fish_use_subcommand");
  }
  for (std::size_t i = 1; i < commands.size(); ++i) {
    const std::string& name = commands[i].name;
    out += "complete -c weir -n '__fish_use_subcommand' -a " + name + " -d " +
           quoted(commands[i].about, "\\'") + "\n";
    const std::string within = "__fish_seen_subcommand_from " + name;
    if (takes_files(commands[i])) out += "complete -c weir -n '" + within + "' -F\n";
    for (const app::OptionText& option : commands[i].options) {
      if (is_named(option)) out += fish_option(option, within);
    }
  }
  return out;
}

}  // namespace weir::manual
