// W3C Trace Context: the one header that is read of it (https://www.w3.org/TR/trace-context/).
//
//   traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//                version  trace-id (32)              parent-id (16)   flags
//
// THREADS: pure function.

#pragma once

#include <optional>
#include <string_view>

namespace weir::http1 {

// The trace id; nothing where the value is no traceparent of any version.
std::optional<std::string_view> trace_id_of(std::string_view traceparent);

}  // namespace weir::http1
