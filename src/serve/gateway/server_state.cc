#include "serve/gateway/server_state.h"

#include "base/log.h"
#include "policy/format.h"

namespace weir::gateway {
namespace {

metrics::Counter requests(metrics::Registry& registry, const std::string& url,
                          const char* outcome) {
  return registry.counter("weir_upstream_requests_total",
                          "Requests that went to an upstream's server, by what became of them.",
                          {{"upstream", url}, {"outcome", outcome}});
}

}  // namespace

ServerState::ServerState(const policy::Upstream& server, const policy::UpstreamGroup& group,
                         metrics::Registry& registry)
    : url_(server.url()),
      alone_(group.servers.size() == 1),
      health_(group.eject, group.check),
      answered_(requests(registry, url_, "answered")),
      failed_(requests(registry, url_, "failed")),
      put_out_(registry.counter("weir_upstream_out_total",
                                "How often an upstream's server was put out of its group.",
                                {{"upstream", url_}})) {}

void ServerState::failed(std::int64_t now_ns, std::string_view why) {
  failed_.add();
  if (alone_ || health_.failed(now_ns) != Health::Change::kOut) return;
  tell_out("it is left out for " + policy::format_duration(health_.term()) +
           ", too many requests in a row got no answer; the last: " + std::string(why));
}

void ServerState::checked(bool passed, std::string_view why) {
  const Health::Change change = health_.checked(passed);
  if (change == Health::Change::kOut) tell_out("its checks fail: " + std::string(why));
  tell_back(change);
}

void ServerState::tell_out(std::string_view why) {
  put_out_.add();
  log::warning("upstream " + url_ + " is out: " + std::string(why));
}

void ServerState::tell_back(Health::Change change) {
  if (change == Health::Change::kBack) log::info("upstream " + url_ + " is back: it answers again");
}

}  // namespace weir::gateway
