// What a server that has bounded its memory means for limits.
//
// THREADS: plain functions.

#pragma once

#include <string>
#include <string_view>

namespace weir::store::redis {

// `info`: what INFO memory answered. Empty where the memory is not bounded, or the server does not
// say.
std::string memory_warning(std::string_view info);

}  // namespace weir::store::redis
