#include "policy/environment.h"

#include <cctype>
#include <cstdlib>

#include "policy/words.h"

namespace weir::policy {
namespace {

bool is_variable_name(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (char c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

// The value of what stands between ${ and }.
Parsed<std::string> value_of(std::string_view inside, const Environment& environment) {
  const std::size_t colon = inside.find(":-");
  const std::string name(inside.substr(0, colon));
  if (!is_variable_name(name)) {
    return ScalarError{"has ${" + std::string(inside.substr(0, 40)) +
                       "}, wants ${NAME} or ${NAME:-default}; a plain ${ is written $${"};
  }
  std::optional<std::string> value = environment(name);
  if (colon == std::string_view::npos) {
    if (value) return *value;
    return ScalarError{"names the environment variable " + name +
                       ", which is not set; set it or write ${" + name + ":-default}"};
  }
  if (value && !value->empty()) return *value;
  return std::string(inside.substr(colon + 2));
}

}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

bool has_variables(std::string_view text) {
  return text.find("${") != std::string_view::npos;
}

Parsed<std::string> expand(std::string_view text, const Environment& environment) {
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = text.find("${", at);
    if (open == std::string_view::npos) return out + std::string(text.substr(at));
    if (open > at && text[open - 1] == '$') {  // $${ is a plain ${
      out += std::string(text.substr(at, open - 1 - at)) + "${";
      at = open + 2;
      continue;
    }
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) {
      return ScalarError{"has a ${ without its }, wants ${NAME} or ${NAME:-default}", open};
    }
    const Parsed<std::string> value =
        value_of(text.substr(open + 2, close - open - 2), environment);
    if (const auto* error = std::get_if<ScalarError>(&value)) {
      return ScalarError{error->message, open};
    }
    out += std::string(text.substr(at, open - at)) + std::get<std::string>(value);
    at = close + 1;
  }
}

}  // namespace weir::policy
