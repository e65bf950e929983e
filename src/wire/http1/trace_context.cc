#include "wire/http1/trace_context.h"

#include <algorithm>

namespace weir::http1 {
namespace {

constexpr std::size_t kSize = 55;

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
  return is_lower_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> trace_id_of(std::string_view traceparent) {
  if (traceparent.size() < kSize) return std::nullopt;
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace = traceparent.substr(3, 32);
  const bool dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
  // Later versions may say more behind a dash; 00 may not, and ff is none.
  const bool ends = traceparent.size() == kSize || (version != "00" && traceparent[kSize] == '-');
  if (!dashes || !ends || !is_lower_hex(version) || version == "ff" || !is_id(trace) ||
      !is_id(traceparent.substr(36, 16)) || !is_lower_hex(traceparent.substr(53, 2))) {
    return std::nullopt;
  }
  return trace;
}

}  // namespace weir::http1
