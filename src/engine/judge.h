// Judge: from the answers of the store to the decision: each limit's own verdict, and the one that
// the decision names.
//
// Where the store failed (`on_error`): a definite denial beats a failure elsewhere, then a
// failure that denies, then what the local share says (local_share.h), then a failure that allows.
//
// THREADS: any.

#pragma once

#include "engine/ban_book.h"
#include "engine/pending.h"

namespace weir::engine {

// Fills decision.limits, allowed, named, reason, source and delay from the answers, and counts what
// bans follow from.
// REQUIRES: pending.answers are in.
void judge(Pending& pending, BanBook& bans);

}  // namespace weir::engine
