// What a policy says of a listener, in the words of net/.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <vector>

#include "net/server.h"
#include "policy/policy.h"

namespace weir::app {

// What to tell of a policy that the program cannot serve; a library can use it.
inline constexpr char kNoListener[] =
    "nothing to serve: the policy names no listener; add gateway, api, resp, grpc or admin";
bool has_listener(const policy::Policy& policy);

net::ListenAddress listen_address(const policy::Address& address);
net::TlsServerFiles tls_files(const policy::Tls& tls);

// All but what the process adds: whom it trusts, where it counts, what it has inherited.
net::ListenOptions listen_options(std::string name, const policy::Listener& listener);

// Whether a listener that stands open as `now` says can go on as `next` says: certificates may be
// others.
bool same_listener(const policy::Listener& now, const policy::Listener& next);

// Every file of TLS that the policy names.
std::vector<std::string> tls_files_of(const policy::Policy& policy);

// "http://a:1, http://b:2".
std::string describe(const policy::UpstreamGroup& group);

// "https://127.0.0.1:8443" and the path; a unix socket is its own URL.
std::string url_of(const net::Server& server, const std::string& scheme, const char* path = "");

}  // namespace weir::app
