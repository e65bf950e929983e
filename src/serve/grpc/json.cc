#include "serve/grpc/json.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <optional>

#include "base/json.h"
#include "serve/http/problem.h"
#include "wire/grpc/protobuf.h"

namespace weir::grpc {
namespace {

namespace json = boost::json;
using protobuf::Writer;

Error bad(std::string_view member, std::string_view allowed) {
  return {ErrorCode::kInvalid, std::string(member) + " must be " + std::string(allowed)};
}

// Numbers may stand as text in proto3 JSON.
std::optional<std::uint64_t> read_number(const json::value& value) {
  if (const json::string* text = value.if_string()) {
    std::uint64_t number = 0;
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return number;
  }
  json::error_code error;
  const auto number = value.to_number<std::uint64_t>(error);
  if (error || value.is_double()) return std::nullopt;
  return number;
}

std::optional<Error> write_number(Writer& writer, std::uint32_t field, std::string_view member,
                                  const json::value& value, std::uint64_t most) {
  const auto number = read_number(value);
  if (!number || *number > most) return bad(member, "a whole number that fits its field");
  writer.number(field, *number);
  return std::nullopt;
}

std::optional<Error> write_text(Writer& writer, std::uint32_t field, std::string_view member,
                                const json::value& value) {
  const json::string* text = value.if_string();
  if (text == nullptr) return bad(member, "a string");
  writer.text(field, std::string_view(*text));
  return std::nullopt;
}

// By number or by name; the names in the order of their numbers.
std::optional<std::uint64_t> read_unit(const json::value& value) {
  const json::string* text = value.if_string();
  if (text == nullptr) return read_number(value);
  for (const auto unit : {rls::Unit::kUnknown, rls::Unit::kSecond, rls::Unit::kMinute,
                          rls::Unit::kHour, rls::Unit::kDay, rls::Unit::kMonth, rls::Unit::kYear}) {
    if (rls::to_string(unit) == std::string_view(*text)) return static_cast<std::uint64_t>(unit);
  }
  return std::nullopt;
}

std::optional<Error> write_limit(Writer& writer, const json::value& value) {
  constexpr std::uint64_t kMax = 0xFFFFFFFF;
  const json::object* limit = value.if_object();
  if (limit == nullptr) return bad("limit", "an object");
  for (const auto& [name, member] : *limit) {
    if (member.is_null()) continue;  // in proto3 JSON: not set; so below
    if (name == "requestsPerUnit" || name == "requests_per_unit") {
      if (auto error = write_number(writer, 1, "requestsPerUnit", member, kMax)) return error;
    } else if (name == "unit") {
      const auto unit = read_unit(member);
      if (!unit) return bad("unit", "SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
      writer.number(2, *unit);
    }
  }
  return std::nullopt;
}

std::optional<Error> write_entries(Writer& writer, const json::value& value) {
  const json::array* entries = value.if_array();
  if (entries == nullptr) return bad("entries", "a list");
  for (const json::value& item : *entries) {
    const json::object* entry = item.if_object();
    if (entry == nullptr) return bad("entries", "a list of objects with key and value");
    const std::size_t at = writer.open(1);
    for (const auto& [name, member] : *entry) {
      if (member.is_null()) continue;
      const std::uint32_t field = name == "key" ? 1 : name == "value" ? 2 : 0;
      if (field == 0) continue;
      if (auto error = write_text(writer, field, name, member)) return error;
    }
    writer.close(at);
  }
  return std::nullopt;
}

std::optional<Error> write_descriptor(Writer& writer, const json::value& value) {
  const json::object* descriptor = value.if_object();
  if (descriptor == nullptr) return bad("descriptors", "a list of objects");
  for (const auto& [name, member] : *descriptor) {
    if (member.is_null()) continue;
    std::optional<Error> error;
    if (name == "entries") {
      error = write_entries(writer, member);
    } else if (name == "limit") {
      const std::size_t at = writer.open(2);
      error = write_limit(writer, member);
      writer.close(at);
    } else if (name == "hitsAddend" || name == "hits_addend") {
      const std::size_t at = writer.open(3);
      error = write_number(writer, 1, "hitsAddend", member, ~std::uint64_t{0});
      writer.close(at);
    }
    if (error) return error;
  }
  return std::nullopt;
}

std::optional<Error> write_descriptors(Writer& writer, const json::value& value) {
  const json::array* descriptors = value.if_array();
  if (descriptors == nullptr) return bad("descriptors", "a list of objects");
  for (const json::value& descriptor : *descriptors) {
    const std::size_t at = writer.open(2);
    if (auto error = write_descriptor(writer, descriptor)) return error;
    writer.close(at);
  }
  return std::nullopt;
}

// Members of one JSON object, commas between them.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  std::string& name(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name_of, std::string_view value) {
    append_json_string(name(name_of), value);
  }
  void number(std::string_view name_of, std::uint64_t value) {
    if (value != 0) name(name_of) += std::to_string(value);
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_status(const rls::DescriptorStatus& status, std::string& out) {
  Members members(out);
  members.text("code", rls::to_string(status.code));
  if (status.current_limit) {
    members.name("currentLimit");
    Members limit(out);
    limit.number("requestsPerUnit", status.current_limit->requests_per_unit);
    if (status.current_limit->unit != rls::Unit::kUnknown) {
      limit.text("unit", rls::to_string(status.current_limit->unit));
    }
    if (!status.current_limit->name.empty()) limit.text("name", status.current_limit->name);
    limit.end();
  }
  members.number("limitRemaining", status.limit_remaining);
  if (status.seconds_until_reset) {
    members.text("durationUntilReset", std::to_string(*status.seconds_until_reset) + "s");
  }
  members.end();
}

void fill(const RateLimiter::Answer& answer, http::Response& response) {
  if (!answer) {
    const bool wrong = answer.error().code != ErrorCode::kUnavailable;
    return http::set_problem(response, wrong ? 400 : 503, answer.error().message);
  }
  response.status = answer->get().overall_code == rls::Code::kOk ? 200 : 429;
  response.content_type = "application/json";
  append_json(*answer, response.body);
  response.body += '\n';
}

}  // namespace

Result<std::string> request_from_json(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return parsed.error();
  const json::object* object = parsed->if_object();
  if (object == nullptr) return bad("the body", "an object");
  std::string out;
  Writer writer(out);
  for (const auto& [name, member] : *object) {
    if (member.is_null()) continue;
    std::optional<Error> error;
    if (name == "domain") {
      error = write_text(writer, 1, "domain", member);
    } else if (name == "descriptors") {
      error = write_descriptors(writer, member);
    } else if (name == "hitsAddend" || name == "hits_addend") {
      error = write_number(writer, 3, "hitsAddend", member, 0xFFFFFFFF);
    }
    if (error) return *std::move(error);
  }
  return out;
}

void append_json(const rls::Response& response, std::string& out) {
  Members members(out);
  members.text("overallCode", rls::to_string(response.overall_code));
  members.name("statuses") += '[';
  for (std::size_t i = 0; i < response.statuses.size(); ++i) {
    if (i > 0) out += ',';
    append_status(response.statuses[i], out);
  }
  out += ']';
  members.end();
}

http::AsyncHandler json_handler(const RateLimiter& limiter) {
  return
      [&limiter](const http::Request& request, http::Response& response, const http::Done& done) {
        if (request.method != "POST") {
          http::set_problem(response, 405, "only POST is answered here");
          response.add_header("Allow", "POST");
          return done();
        }
        const auto message = request_from_json(request.body);
        if (!message) {
          http::set_problem(response, 400, message.error().message);
          return done();
        }
        limiter.decide(*message, [&response, done](const RateLimiter::Answer& answer) {
          fill(answer, response);
          done();
        });
      };
}

}  // namespace weir::grpc
