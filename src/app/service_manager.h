// What systemd is told of a service with Type=notify (sd_notify(3)): that it is ready, and that it
// stops. A datagram with "READY=1" to the socket that $NOTIFY_SOCKET names; nothing elsewhere.
//
// THREADS: any, once main() has begun.

#pragma once

#include <string_view>

namespace weir::app {

// Best effort: a manager that does not read loses it, and nobody waits.
void tell_service_manager(std::string_view state);

}  // namespace weir::app
