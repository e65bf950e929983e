// `weir validate`: checks policy files without serving. Opens no port and asks no store.

#pragma once

#include "app/command_line.h"
#include "policy/load.h"

namespace weir::app {

int run_validate(const ValidateOptions& options);

// Prints mistakes and warnings to standard error, each with its line and a caret.
void print_findings(const policy::Loaded& loaded);

}  // namespace weir::app
