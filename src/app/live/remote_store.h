// RemoteStore: a policy and the changes made to it, kept in etcd or Redis for a whole fleet.
//
// A change anywhere reaches every instance within a second: etcd tells of it, Redis is asked twice
// a second for a digest. A connection that is lost is made again, and what was missed is read then.
//
// THREADS: the control loop's.

#pragma once

#include <memory>
#include <string_view>

#include "app/live/overlay_keeper.h"
#include "app/live/policy_source.h"
#include "app/live/remote_place.h"
#include "net/loop.h"
#include "store/redis/settings.h"

namespace weir::app {

std::unique_ptr<PolicySource> policy_in_etcd(net::Loop& loop, const RemotePlace& place);
std::unique_ptr<OverlayKeeper> overlay_in_etcd(net::Loop& loop, const RemotePlace& place);
std::unique_ptr<PolicySource> policy_in_redis(net::Loop& loop, const RemotePlace& place);
// Under `place.key` and ".changes".
std::unique_ptr<OverlayKeeper> overlay_in_redis(net::Loop& loop, const RemotePlace& place);

// A key in the Redis that counts, after `store.prefix`. ERRORS: kInvalid: its URL or TLS files.
Result<RemotePlace> place_in_store(const policy::Store& store, std::string_view key);

// How the Redis of a place is reached. `timeout`: for an answer.
store::redis::Settings redis_settings(const RemotePlace& place, Duration timeout);

// Where the changes of a policy are kept: the file that it names, else beside the policy, else in
// the Redis that counts, else nowhere. ERRORS: kInvalid: the store's URL or TLS files.
Result<std::unique_ptr<OverlayKeeper>> open_overlay(net::Loop& loop, PolicySource& source,
                                                    const policy::Policy& policy);

}  // namespace weir::app
