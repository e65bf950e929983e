// The fingerprint of a policy's text: "sha256:" and the digits that `sha256sum FILE` prints.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>

namespace weir::app {

std::string fingerprint(std::string_view text);

}  // namespace weir::app
