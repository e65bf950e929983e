#include "app/ban_log.h"

#include <string>

#include "base/log.h"
#include "engine/compiled_policy.h"
#include "engine/metrics.h"

namespace weir::app {

BanLog::BanLog(const engine::Engine& engine, const Clock& clock, metrics::Registry& registry)
    : engine_(engine), clock_(clock), registry_(registry) {
  registry_.gauge("weir_banned_keys", "Keys that are banned now, for too many refusals.", {},
                  [this] { return static_cast<double>(engine_.bans().list(clock_.now()).size()); });
}

void BanLog::begun(const engine::Banned& banned) {
  registry_
      .counter("weir_bans_total", "Bans that have begun here, by limit.", {{"limit", banned.limit}})
      .add();
  if (!lines_.take(clock_.now().steady_ns, kMaxLines)) return;
  const auto current = engine_.current();
  std::string line = "ban: limit " + banned.limit + " refuses ";
  line += current->policy().metrics.keys == policy::KeyForm::kOff
              ? std::string("a key")
              : engine_.metrics()->denied_keys().show(banned.limit, banned.key);
  line +=
      " for " + std::to_string(std::chrono::ceil<std::chrono::seconds>(banned.left).count()) + " s";
  if (banned.times > 1) line += ", " + std::to_string(banned.times) + " times in a row now";
  if (const std::uint64_t left_out = lines_.take_left_out(); left_out > 0) {
    line += "; " + std::to_string(left_out) + " more bans had no line";
  }
  log::write(log::Level::kInfo, line, log::Text::kEscaped);
}

}  // namespace weir::app
