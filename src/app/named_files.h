// What a start of the program finds in the files of TLS that a policy names, without a start.
//
// THREADS: plain functions.

#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"

namespace weir::app {

// What is wrong with them on this machine, in the words in which a start would refuse them, one for
// each section.
std::vector<std::string> check_tls_files(const policy::Policy& policy);

}  // namespace weir::app
