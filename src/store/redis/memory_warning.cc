#include "store/redis/memory_warning.h"

namespace weir::store::redis {
namespace {

// The value of "name:value\r\n".
std::string_view field(std::string_view info, std::string_view name) {
  std::size_t at = info.find(name);
  while (at != std::string_view::npos && at > 0 && info[at - 1] != '\n') {
    at = info.find(name, at + 1);
  }
  if (at == std::string_view::npos) return {};
  const std::string_view rest = info.substr(at + name.size());
  return rest.substr(0, rest.find_first_of("\r\n"));
}

}  // namespace

std::string memory_warning(std::string_view info) {
  const std::string_view bytes = field(info, "maxmemory:");
  const std::string policy(field(info, "maxmemory_policy:"));
  if (bytes.empty() || bytes == "0" || policy.empty()) return "";
  const std::string bound = "maxmemory is " + std::string(bytes) + " with " + policy + ": ";
  if (policy == "noeviction") {
    return bound + "when it is full, redis refuses to count and on_error decides";
  }
  return bound +
         "when it is full, redis forgets counters that are in use, and their limits pass up to "
         "twice; noeviction keeps them";
}

}  // namespace weir::store::redis
