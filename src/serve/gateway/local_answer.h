// Answers that the gateway gives itself: refusals, and faults of the client or the upstream.
//
// THREADS: pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::gateway {

struct LocalAnswer {
  int status = 500;
  std::int64_t unix_seconds = 0;  // of Date
  std::string_view rate_headers;  // whole lines, as are the next
  std::string_view own_headers;
  std::string_view content_type = "application/json";
  std::string_view body;
  bool to_head = false;  // says how long the body would be, and sends none
  bool close = false;
  bool keep_alive_1_0 = false;
};

void append_local_answer(std::string& out, const LocalAnswer& answer);

// {"code":"UPSTREAM_TIMEOUT","message":"..."}
std::string fault_body(std::string_view code, std::string_view message);

}  // namespace weir::gateway
