// Explain: which limits a request meets, by which key and numbers, and why it does not meet the
// others. Asks no store and charges nothing: what `weir validate --explain` prints.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>

#include "engine/attributes.h"
#include "engine/compiled_policy.h"
#include "engine/sent_attributes.h"
#include "weir/result.h"

namespace weir::engine {

// Reads a request as a person writes it: "POST /login from 203.0.113.7 user=42 header.x-id=7". The
// method, the path (with its query) and the address may be left out; `name=value` names any
// attribute. ERRORS: kInvalid, naming the word that is wrong and what is allowed.
Result<bool> read_request(std::string_view text, const policy::Policy& policy, SentAttributes& out);

// One line for each limit, in file order, each ended by a newline:
//   login: counts ip=203.0.113.7 by token_bucket rate 6/min burst 5, cost 1
//   query: does not apply: message is missing
// or one line that says why no limit is asked at all.
std::string explain(const CompiledPolicy& policy, const Attributes& request);

}  // namespace weir::engine
