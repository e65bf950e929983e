#include "app/validate.h"

#include <cstdio>

#include "engine/compiled_policy.h"

namespace weir::app {

void print_findings(const policy::Loaded& loaded) {
  for (const policy::Diagnostic& mistake : loaded.mistakes) {
    std::fputs(mistake.to_string().c_str(), stderr);
  }
  for (const policy::Diagnostic& warning : loaded.warnings) {
    policy::Diagnostic marked = warning;
    marked.message = "warning: " + warning.message;
    std::fputs(marked.to_string().c_str(), stderr);
  }
}

int run_validate(const ValidateOptions& options) {
  int exit_code = kExitOk;
  for (const std::string& file : options.files) {
    policy::Loaded loaded = policy::load_file(file);
    print_findings(loaded);
    if (!loaded.policy) {
      exit_code = kExitUsage;
      continue;
    }
    const std::size_t limits = loaded.policy->limits.size();
    const auto compiled = engine::CompiledPolicy::make(std::move(*loaded.policy));
    if (!compiled) {
      std::fprintf(stderr, "%s: %s\n", file.c_str(), compiled.error().message.c_str());
      exit_code = kExitUsage;
      continue;
    }
    std::printf("%s: right, %zu limits\n", file.c_str(), limits);
  }
  return exit_code;
}

}  // namespace weir::app
