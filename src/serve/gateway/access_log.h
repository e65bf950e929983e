// AccessLog: a line for each request of the gateway, where the policy asks for it
// (docs/gateway.md).
//
// THREADS: use() from one at a time; the rest any.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/line_file.h"
#include "base/metrics.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::gateway {

class AccessLog {
 public:
  explicit AccessLog(metrics::Registry& registry);

  // Writes to the file that is named here from now on, or to none.
  // ERRORS: kIo, naming the file; then nothing has changed.
  Result<bool> use(const std::optional<policy::AccessLog>& settings);
  // For whoever has moved the file away.
  void reopen() { file_.reopen(); }
  void write(std::string_view line) { file_.write(line); }

 private:
  LineFile file_;
  std::string path_;  // in use; empty: none
};

}  // namespace weir::gateway
