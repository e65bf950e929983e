#include "app/live/remote_store.h"

#include <utility>

namespace weir::app {

Result<RemotePlace> place_in_store(const policy::Store& store, std::string_view key) {
  RemotePlace place;
  place.kind = RemotePlace::Kind::kRedis;
  auto url = store::redis::parse_url(store.url);
  if (!url) return url.error();
  place.url = std::move(*url);
  place.key = store.prefix + std::string(key);
  if (!place.url.tls && !place.url.sentinel_tls) return place;
  auto tls = store::redis::Tls::make({store.ca, store.cert, store.key, store.server_name});
  if (!tls) return tls.error();
  place.tls = std::move(*tls);
  return place;
}

store::redis::Settings redis_settings(const RemotePlace& place, Duration timeout) {
  store::redis::Settings settings;
  settings.url = place.url;
  settings.tls = place.tls;
  settings.timeout = timeout;
  return settings;
}

Result<std::unique_ptr<OverlayKeeper>> open_overlay(net::Loop& loop, PolicySource& source,
                                                    const policy::Policy& policy) {
  if (policy.admin && !policy.admin->state.empty()) {
    return keep_overlay_in_file(policy.admin->state);
  }
  if (auto keeper = source.overlay()) return keeper;
  // Who cannot be asked for changes does not follow those of others either.
  if (policy.store.in_memory() || !policy.admin) return keep_overlay_in_file("");
  const auto place = place_in_store(policy.store, "policy");
  if (!place) return place.error();
  return overlay_in_redis(loop, *place);
}

}  // namespace weir::app
