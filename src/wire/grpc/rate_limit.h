// The messages of envoy.service.ratelimit.v3, read and written field by field.
//
//   RateLimitRequest    1 domain  2 descriptors*  3 hits_addend
//   RateLimitDescriptor 1 entries* {1 key 2 value}  2 limit {1 requests_per_unit 2 unit}
//                       3 hits_addend {1 value}
//   RateLimitResponse   1 overall_code  2 statuses*  3 response_headers_to_add* {1 key 2 value}
//                       5 raw_body  6 dynamic_metadata (google.protobuf.Struct)
//   DescriptorStatus    1 code  2 current_limit {1 requests_per_unit 2 unit 3 name}
//                       3 limit_remaining  4 duration_until_reset {1 seconds}
//
// Unknown fields are skipped. The last of a repeated singular field counts.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/result.h"

namespace weir::rls {

// envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit. The request's override has an enum
// of its own that lacks the week; the other numbers are the same.
enum class Unit : std::uint8_t {
  kUnknown = 0,
  kSecond = 1,
  kMinute = 2,
  kHour = 3,
  kDay = 4,
  kMonth = 5,
  kYear = 6,
  kWeek = 7,
};

std::string_view to_string(Unit unit);  // "SECOND"

enum class Code : std::uint8_t { kUnknown = 0, kOk = 1, kOverLimit = 2 };

std::string_view to_string(Code code);  // "OVER_LIMIT"

struct Entry {
  std::string_view key;
  std::string_view value;
};

struct Override {
  std::uint32_t requests_per_unit = 0;
  Unit unit = Unit::kUnknown;
};

struct Descriptor {
  std::vector<Entry> entries;
  std::optional<Override> limit;
  std::optional<std::uint64_t> hits_addend;  // 0 is a peek
};

// Views stand in the bytes that were read.
struct Request {
  std::string_view domain;
  std::vector<Descriptor> descriptors;
  std::uint32_t hits_addend = 0;  // 0: not given
};

inline constexpr std::size_t kMaxDescriptors = 1024;
inline constexpr std::size_t kMaxEntries = 64;  // of one descriptor

// ERRORS: kInvalid for bytes that are no such message; kExhausted past the bounds above.
Result<Request> read_request(std::string_view bytes);

struct CurrentLimit {
  std::uint32_t requests_per_unit = 0;
  Unit unit = Unit::kUnknown;
  std::string_view name;  // of the policy's limit: lives as long as the policy
};

struct DescriptorStatus {
  Code code = Code::kOk;
  std::optional<CurrentLimit> current_limit;  // absent: no limit was met
  std::uint32_t limit_remaining = 0;
  std::optional<std::uint64_t> seconds_until_reset;
};

struct Response {
  Code overall_code = Code::kOk;
  std::vector<DescriptorStatus> statuses;
  // Whoever fills a response keeps what these view.
  std::vector<std::pair<std::string_view, std::string_view>> headers;   // to the client
  std::vector<std::pair<std::string_view, std::string_view>> metadata;  // dynamic, all text
  std::string raw_body;                                                 // of a refusal
  std::string delay;  // one more of the metadata: seconds, where there are any

  // Makes it as new, keeping its memory.
  void clear();
};

void append_response(std::string& out, const Response& response);

}  // namespace weir::rls
