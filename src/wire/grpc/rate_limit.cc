#include "wire/grpc/rate_limit.h"

#include "wire/grpc/protobuf.h"

namespace weir::rls {
namespace {

using protobuf::Field;
using protobuf::Reader;
using protobuf::Writer;

constexpr std::size_t kUsualEntries = 4;

bool read_entry(std::string_view bytes, Entry& entry) {
  Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.is_bytes(1)) entry.key = field.bytes;
    if (field.is_bytes(2)) entry.value = field.bytes;
  }
  return !reader.failed();
}

bool read_override(std::string_view bytes, Override& limit) {
  Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.is_varint(1)) limit.requests_per_unit = static_cast<std::uint32_t>(field.value);
    if (field.is_varint(2)) {
      // A unit that we do not know is none: the caller says so.
      limit.unit = field.value <= 6 ? static_cast<Unit>(field.value) : Unit::kUnknown;
    }
  }
  return !reader.failed();
}

bool read_wrapped(std::string_view bytes, std::uint64_t& value) {
  Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.is_varint(1)) value = field.value;
  }
  return !reader.failed();
}

std::optional<Error> malformed() {
  return Error{ErrorCode::kInvalid, "the message is no RateLimitRequest"};
}

std::optional<Error> read_descriptor(std::string_view bytes, Descriptor& descriptor) {
  Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.is_bytes(1)) {
      if (descriptor.entries.size() == kMaxEntries) {
        return Error{ErrorCode::kExhausted,
                     "a descriptor has more than " + std::to_string(kMaxEntries) + " entries"};
      }
      if (descriptor.entries.empty()) descriptor.entries.reserve(kUsualEntries);
      if (!read_entry(field.bytes, descriptor.entries.emplace_back())) return malformed();
    } else if (field.is_bytes(2)) {
      if (!read_override(field.bytes, descriptor.limit.emplace())) return malformed();
    } else if (field.is_bytes(3)) {
      if (!read_wrapped(field.bytes, descriptor.hits_addend.emplace())) return malformed();
    }
  }
  return reader.failed() ? malformed() : std::nullopt;
}

void write_status(Writer& writer, const DescriptorStatus& status) {
  const std::size_t at = writer.open(2);
  writer.number(1, static_cast<std::uint64_t>(status.code));
  if (status.current_limit) {
    const std::size_t limit = writer.open(2);
    writer.number(1, status.current_limit->requests_per_unit);
    writer.number(2, static_cast<std::uint64_t>(status.current_limit->unit));
    writer.text(3, status.current_limit->name);
    writer.close(limit);
  }
  writer.number(3, status.limit_remaining);
  if (status.seconds_until_reset) {
    const std::size_t duration = writer.open(4);
    writer.number(1, *status.seconds_until_reset);
    writer.close(duration);
  }
  writer.close(at);
}

// google.protobuf.Struct { 1 fields: map { 1 key, 2 Value { 3 string_value } } }
void write_metadata(Writer& writer, const Response& response) {
  const std::size_t all = writer.open(6);
  const auto add = [&writer](std::string_view key, std::string_view value) {
    const std::size_t pair = writer.open(1);
    writer.text(1, key);
    const std::size_t inner = writer.open(2);
    writer.text(3, value);
    writer.close(inner);
    writer.close(pair);
  };
  for (const auto& [key, value] : response.metadata) add(key, value);
  if (!response.delay.empty()) add("delay", response.delay);
  writer.close(all);
}

}  // namespace

std::string_view to_string(Unit unit) {
  constexpr std::string_view kNames[] = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                         "DAY",     "MONTH",  "YEAR",   "WEEK"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string_view to_string(Code code) {
  constexpr std::string_view kNames[] = {"UNKNOWN", "OK", "OVER_LIMIT"};
  return kNames[static_cast<std::size_t>(code)];
}

Result<Request> read_request(std::string_view bytes) {
  Request request;
  Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.is_bytes(1)) {
      request.domain = field.bytes;
    } else if (field.is_varint(3)) {
      request.hits_addend = static_cast<std::uint32_t>(field.value);
    } else if (field.is_bytes(2)) {
      if (request.descriptors.size() == kMaxDescriptors) {
        return Error{ErrorCode::kExhausted, "the request has more than " +
                                                std::to_string(kMaxDescriptors) + " descriptors"};
      }
      auto error = read_descriptor(field.bytes, request.descriptors.emplace_back());
      if (error) return *std::move(error);
    }
  }
  if (reader.failed()) return *malformed();
  return request;
}

void Response::clear() {
  overall_code = Code::kOk;
  statuses.clear();
  headers.clear();
  metadata.clear();
  raw_body.clear();
  delay.clear();
}

void append_response(std::string& out, const Response& response) {
  Writer writer(out);
  writer.number(1, static_cast<std::uint64_t>(response.overall_code));
  for (const DescriptorStatus& status : response.statuses) write_status(writer, status);
  for (const auto& [name, value] : response.headers) {
    const std::size_t at = writer.open(3);
    writer.text(1, name);
    writer.text(2, value);
    writer.close(at);
  }
  writer.text(5, response.raw_body);
  if (!response.metadata.empty()) write_metadata(writer, response);
}

}  // namespace weir::rls
