// What a shell or troff reads of the command line's texts: the writers of weir_manual.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <vector>

#include "app/command_text.h"

namespace weir::manual {

using Commands = std::vector<app::CommandText>;

// The man page's sections on commands and their options, man(7).
std::string man_commands(const Commands& commands);

// Completion scripts, each for its shell.
std::string bash_completion(const Commands& commands);
std::string zsh_completion(const Commands& commands);
std::string fish_completion(const Commands& commands);

// Whether a value of this kind is the name of a file.
bool is_file(const std::string& value);
// Options with a name; the others are words by their place.
bool is_named(const app::OptionText& option);

}  // namespace weir::manual
