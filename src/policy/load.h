// Load: a policy file to a checked policy, or to everything that is wrong with it.
//
// All mistakes of a file are told in one go, in its order. The same text and environment give the
// same answer, whoever asks: `weir validate`, the start and a reload all come through here.
//
// THREADS: any.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.h"
#include "policy/environment.h"
#include "policy/policy.h"

namespace weir::policy {

enum class Format : std::uint8_t { kYaml, kToml };

struct Loaded {
  std::optional<Policy> policy;      // exactly when there are no mistakes
  std::vector<Diagnostic> mistakes;  // by position
  std::vector<Diagnostic> warnings;  // by position: legal, but doubtful; told beside mistakes too
};

// What a policy does not say itself.
struct LoadOptions {
  Environment environment = process_environment;
};

// By the file's name: .yaml and .yml, or .toml.
// ERRORS: in `mistakes`, also for a file that cannot be read.
Loaded load_file(const std::string& path, const LoadOptions& options = {});

Loaded load_text(const std::string& name, std::string text, Format format,
                 const LoadOptions& options = {});

}  // namespace weir::policy
