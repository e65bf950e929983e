// All of weir that names nobody but the standard library.

#pragma once

#include "weir/clock.h"            // IWYU pragma: export
#include "weir/decision.h"         // IWYU pragma: export
#include "weir/engine.h"           // IWYU pragma: export
#include "weir/follower.h"         // IWYU pragma: export
#include "weir/keyed_limiter.h"    // IWYU pragma: export
#include "weir/limiter.h"          // IWYU pragma: export
#include "weir/message_limiter.h"  // IWYU pragma: export
#include "weir/numbers.h"          // IWYU pragma: export
#include "weir/result.h"           // IWYU pragma: export
#include "weir/time.h"             // IWYU pragma: export
