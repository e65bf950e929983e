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
#include "policy/node.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::policy {

enum class Format : std::uint8_t { kYaml, kToml };

// A policy as it was written, wherever it is kept.
struct PolicyText {
  std::string name;  // for messages: the file as named on the command line
  std::string text;
  Format format = Format::kYaml;
  bool world_readable = false;  // every user of this machine can read it
};

struct Loaded {
  std::optional<Policy> policy;      // exactly when there are no mistakes
  NodePtr tree;                      // with `policy`: what it was read from
  std::vector<Diagnostic> mistakes;  // by position
  std::vector<Diagnostic> warnings;  // by position: legal, but doubtful; told beside mistakes too
};

// What a policy does not say itself.
struct LoadOptions {
  Environment environment = process_environment;
};

// .yaml and .yml, or .toml; nothing for another name.
std::optional<Format> format_of(std::string_view name);

// By the file's name. ERRORS: kInvalid for the name, kIo, kExhausted above 64 MiB.
Result<PolicyText> read_policy_file(const std::string& path);

// ERRORS: in `mistakes`, also for a file that cannot be read.
Loaded load_file(const std::string& path, const LoadOptions& options = {});

Loaded load(PolicyText text, const LoadOptions& options = {});

Loaded load_text(const std::string& name, std::string text, Format format,
                 const LoadOptions& options = {});

}  // namespace weir::policy
