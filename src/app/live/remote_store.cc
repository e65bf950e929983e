#include "app/live/remote_store.h"

#include <utility>

namespace weir::app {
namespace {

Result<RemotePlace> place_of(const policy::Store& store) {
  RemotePlace place;
  place.kind = RemotePlace::Kind::kRedis;
  auto url = store::redis::parse_url(store.url);
  if (!url) return url.error();
  place.url = std::move(*url);
  place.key = store.prefix + "policy";
  if (!place.url.tls && !place.url.sentinel_tls) return place;
  auto tls = store::redis::Tls::make({store.ca, store.cert, store.key, store.server_name});
  if (!tls) return tls.error();
  place.tls = std::move(*tls);
  return place;
}

}  // namespace

Result<std::unique_ptr<OverlayKeeper>> open_overlay(net::Loop& loop, PolicySource& source,
                                                    const policy::Policy& policy) {
  if (auto keeper = source.overlay()) return keeper;
  // Who cannot be asked for changes does not follow those of others either.
  if (policy.store.in_memory() || !policy.admin) return keep_overlay_here();
  const auto place = place_of(policy.store);
  if (!place) return place.error();
  return overlay_in_redis(loop, *place);
}

}  // namespace weir::app
