// See policy_fuzz.h. A corpus to begin with: src/policy/testdata.

#include <cstddef>

#include "policy_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::try_policy(std::string(reinterpret_cast<const char*>(data), size),
                         weir::policy::Format::kToml);
  return 0;
}
