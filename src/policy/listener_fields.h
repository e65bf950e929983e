// What listeners have in common: where they listen, TLS, the PROXY protocol, bounds, a token.
//
// THREADS: see reader.h.

#pragma once

#include <algorithm>
#include <array>

#include "policy/address.h"
#include "policy/sections.h"

namespace weir::policy {

void read_listen(Reader& reader, const Entry& entry, Listener& out);
void read_tls(Reader& reader, const Entry& entry, Listener& out);
void read_proxy_protocol(Reader& reader, const Entry& entry, Listener& out);
void read_max_connections(Reader& reader, const Entry& entry, Listener& out);
void read_max_per_client(Reader& reader, const Entry& entry, Listener& out);

// A secret that callers send: any text without blanks and control characters, or "" for none.
void read_token(Reader& reader, const Entry& entry, std::string& out);

// The listener that a section's table reads into: the section itself, where it is one.
inline Listener& listener_of(Listener& section) {
  return section;
}

template <typename T, void (*kRead)(Reader&, const Entry&, Listener&)>
void read_into_listener(Reader& reader, const Entry& entry, T& out) {
  kRead(reader, entry, listener_of(out));
}

// The keys of every listener around `own`.
template <typename T, std::size_t N>
constexpr std::array<Field<T>, N + 5> with_listener_fields(const std::array<Field<T>, N>& own) {
  std::array<Field<T>, N + 5> all{};
  all[0] = {{"listen", "host:port, or unix:///path", kRequired, "Where to listen."},
            read_into_listener<T, read_listen>};
  std::copy(own.begin(), own.end(), all.begin() + 1);
  all[N + 1] = {{"tls", "a mapping, see below", "", "Serves TLS."},
                read_into_listener<T, read_tls>};
  all[N + 2] = {{"proxy_protocol", "true or false", "false",
                 "Connections begin with a PROXY protocol header, version 1 or 2; others than "
                 "`identity.trusted_proxies` are closed."},
                read_into_listener<T, read_proxy_protocol>};
  all[N + 3] = {{"max_connections", "whole number, 1 to 1000000", "",
                 "The most connections at a time, an equal share of them on each event loop; more "
                 "wait in the kernel's queue. Left out: half of the limit of open files."},
                read_into_listener<T, read_max_connections>};
  all[N + 4] = {{"max_connections_per_client", "whole number, 1 to 1000000", "",
                 "The most of one client's address (IPv6: network of 64 bits); one more is "
                 "closed. Trusted proxies are not counted."},
                read_into_listener<T, read_max_per_client>};
  return all;
}

}  // namespace weir::policy
