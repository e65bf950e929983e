#include <cctype>

#include "text.h"

namespace weir::manual {
namespace {

// Text as troff shows it letter by letter: no escapes, and a hyphen that can be copied.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

std::string bold(const std::string& text) {
  return "\\fB" + troff(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + troff(text) + "\\fR";
}

// The options as their list shows them: "-c FILE, --config FILE", or the word's own name.
std::string heading(const app::OptionText& option) {
  if (!is_named(option)) return italic(option.value);
  std::string out;
  for (const std::string& name : option.names) {
    if (!out.empty()) out += ", ";
    out += bold(name);
    if (!option.value.empty()) out += " " + italic(option.value);
  }
  return out;
}

// The line that shows how a command is called.
std::string synopsis(const app::CommandText& command) {
  std::string out = ".B weir " + troff(command.name) + "\n";
  bool has_options = false;
  for (const app::OptionText& option : command.options) {
    if (!is_named(option)) {
      out += (option.required ? "" : "[") + italic(option.value) +
             (option.repeatable ? " ..." : "") + (option.required ? "" : "]") + "\n";
    } else {
      has_options = true;
    }
  }
  return out + (has_options ? "[options]\n" : "");
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return troff(text) + ".\n";
}

std::string options_of(const app::CommandText& command, bool with_help) {
  std::string out;
  for (const app::OptionText& option : command.options) {
    if (!with_help && is_named(option) && option.names.back() == "--help") continue;
    out += ".TP\n" + heading(option) + "\n" + troff(option.about);
    if (!option.default_value.empty()) out += " (default: " + troff(option.default_value) + ")";
    out += ".\n";
  }
  return out;
}

}  // namespace

std::string man_commands(const Commands& commands) {
  std::string out = ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    out += ".SS " + troff(commands[i].name) + "\n" + synopsis(commands[i]) + ".PP\n" +
           sentence(commands[i].about) + options_of(commands[i], false);
  }
  return out + ".SH OPTIONS\n" + options_of(commands.front(), true);
}

}  // namespace weir::manual
