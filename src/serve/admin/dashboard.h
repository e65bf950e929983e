// The dashboard: one page and what it needs, out of the program itself (web/). The page holds
// nothing but itself: what it shows it asks for, with the token where one is needed.
//
// THREADS: constants.

#pragma once

#include "serve/admin/router.h"

namespace weir::admin {

void add_dashboard(Router& router);

}  // namespace weir::admin
