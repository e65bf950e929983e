// What listeners have in common: an address, a token, TLS.
//
// THREADS: see reader.h.

#pragma once

#include "policy/address.h"
#include "policy/sections.h"

namespace weir::policy {

void read_listen(Reader& reader, const Entry& entry, Address& out);

// A secret that callers send: any text without blanks and control characters, or "" for none.
void read_token(Reader& reader, const Entry& entry, std::string& out);

// `tls: { cert, key, client_ca }`: checked, and not kept (feature.h).
void read_tls(Reader& reader, const Entry& entry);

template <typename Listener>
void read_tls(Reader& reader, const Entry& entry, Listener&) {
  read_tls(reader, entry);
}

}  // namespace weir::policy
