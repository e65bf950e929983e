// Refusal: an error reply of a server, by what is to be done about it.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/redis/url.h"

namespace weir::store::redis {

enum class Refusal : std::uint8_t {
  kNoScript,     // the script is not known there: send its text, to the same node
  kMoved,        // the slot lives elsewhere, for good
  kAsk,          // ... and only this time
  kTryAgain,     // keys of one slot stand on two nodes while it moves
  kClusterDown,  // no node serves the slot now
  kLoading,      // the server has just begun
  kReadOnly,     // a replica, perhaps demoted: look for the primary
  kDenied,       // user, password or rights
  kForeign,      // somebody else's value stands under our key
  kOther,
};

// Whether a server that said so ran nothing of the call, so that it may be sent again.
bool ran_nothing(Refusal refusal);

Refusal refusal_of(std::string_view error);

struct Redirect {
  std::uint16_t slot = 0;
  Address address;  // host "": the node that said so
};

// Where "MOVED 3999 127.0.0.1:6381" or "ASK ..." leads. Nothing where it cannot be read.
std::optional<Redirect> redirect_of(std::string_view error);

// One word for metrics: "noscript", "readonly".
std::string_view to_string(Refusal refusal);

}  // namespace weir::store::redis
