// Limit flags: `--limit 'RATE [burst N] [by KEY[,KEY]] [on [METHOD] PATH]'`, a token bucket in one
// line of a shell.
//
//     --limit '10/s burst 20 by ip' --limit '5 per 1m by user|ip on POST /api/auth/login'
//
// The words after the rate may come in any order, each once. A flag becomes the mapping that a
// policy file would hold, and is read as such: same checks, same messages.
//
// THREADS: pure functions.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/diagnostic.h"
#include "policy/policy.h"

namespace weir::policy {

struct LimitFlags {
  std::vector<Limit> limits;  // limit1, limit2, ...; empty where there are mistakes
  std::vector<Diagnostic> mistakes;
  std::vector<Diagnostic> warnings;
};

LimitFlags parse_limit_flags(std::span<const std::string> flags);

}  // namespace weir::policy
