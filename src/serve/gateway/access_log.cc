#include "serve/gateway/access_log.h"

namespace weir::gateway {

AccessLog::AccessLog(metrics::Registry& registry)
    : file_(registry.counter("weir_access_log_dropped_total",
                             "Lines of the access log that were not written: too many waited, or "
                             "the file took none.")) {}

Result<bool> AccessLog::use(const std::optional<policy::AccessLog>& settings) {
  const std::string path = settings ? settings->file : "";
  if (path == path_) return true;
  if (path.empty()) {
    file_.close();
  } else if (const Result<bool> opened = file_.open(path); !opened) {
    return Error{opened.error().code, "access_log: " + opened.error().message};
  }
  path_ = path;
  return true;
}

}  // namespace weir::gateway
