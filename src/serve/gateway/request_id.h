// X-Request-Id: one name for a request in everybody's logs. A trusted proxy's is passed on; every
// other request gets one of the gateway's.
//
// THREADS: RequestIds one loop's; is_request_id() pure.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::gateway {

inline constexpr std::string_view kRequestIdHeader = "x-request-id";

// Whether what a proxy sent may be passed on: 1 to 128 letters, digits and any of -_.:/+=@~.
bool is_request_id(std::string_view text);

// Makes ids: 32 hex digits, never the same twice. No secret: who sees some can work out others.
class RequestIds {
 public:
  // Seeded by the kernel.
  RequestIds();

  void append_next(std::string& out);

 private:
  std::uint64_t next();

  std::array<std::uint64_t, 2> state_{};
};

}  // namespace weir::gateway
