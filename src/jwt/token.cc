#include "jwt/token.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cmath>
#include <limits>

#include "base/base64url.h"
#include "base/json.h"
#include "base/seconds.h"

namespace weir::jwt {
namespace {

namespace json = boost::json;

constexpr double kLatestSecond = 9e9;  // in the year 2255; later is never

Error bad(std::string message) {
  return {ErrorCode::kInvalid, std::move(message)};
}

Result<json::object> read_part(std::string_view text, const char* which) {
  const auto bytes = decode_base64url(text);
  if (!bytes) return bad(std::string("the token's ") + which + " is not base64url");
  auto parsed = parse_json(*bytes);
  if (!parsed) return bad(std::string("the token's ") + which + " is not right JSON");
  json::object* object = parsed->if_object();
  if (object == nullptr) return bad(std::string("the token's ") + which + " is no object");
  return std::move(*object);
}

// A member that is a text; empty where there is none.
Result<std::string> read_text(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return std::string();
  const json::string* text = value->if_string();
  if (text == nullptr) return bad(std::string("the token's ") + name + " is no text");
  return std::string(std::string_view(*text));
}

// Seconds since 1970 as nanoseconds.
Result<std::int64_t> read_time(const json::value& value, const char* name) {
  double seconds = 0;
  if (value.is_int64()) {
    seconds = static_cast<double>(value.get_int64());
  } else if (value.is_uint64()) {
    seconds = static_cast<double>(value.get_uint64());
  } else if (value.is_double()) {
    seconds = value.get_double();
  } else {
    return bad(std::string("the token's ") + name + " is no number");
  }
  if (!std::isfinite(seconds) || seconds < 0) {
    return bad(std::string("the token's ") + name + " is no time");
  }
  if (seconds > kLatestSecond) return std::numeric_limits<std::int64_t>::max();
  const auto whole = static_cast<std::int64_t>(seconds);
  const double rest = seconds - static_cast<double>(whole);
  return whole * kNsPerSecond + static_cast<std::int64_t>(rest * 1e9);
}

}  // namespace

Result<Token> read_token(std::string_view text) {
  if (text.size() > kMaxTokenBytes) return bad("the token is larger than 8192 bytes");
  const std::size_t first = text.find('.');
  const std::size_t second = first == text.npos ? text.npos : text.find('.', first + 1);
  if (second == text.npos || text.find('.', second + 1) != text.npos) {
    return bad("the token has not three parts");
  }
  const auto header = read_part(text.substr(0, first), "header");
  if (!header) return header.error();
  if (header->contains("crit")) return bad("the token has extensions that must be understood");
  auto algorithm = read_text(*header, "alg");
  if (!algorithm) return algorithm.error();
  auto key_id = read_text(*header, "kid");
  if (!key_id) return key_id.error();
  auto payload = read_part(text.substr(first + 1, second - first - 1), "payload");
  if (!payload) return payload.error();
  const auto signature = decode_base64url(text.substr(second + 1));
  if (!signature || signature->empty()) return bad("the token has no signature");
  return Token{*std::move(algorithm), *std::move(key_id), *std::move(payload)};
}

Result<Validity> read_validity(const json::object& payload) {
  Validity validity{std::numeric_limits<std::int64_t>::min(),
                    std::numeric_limits<std::int64_t>::max()};
  if (const json::value* value = payload.if_contains("nbf")) {
    const auto time = read_time(*value, "nbf");
    if (!time) return time.error();
    validity.not_before_ns = *time;
  }
  if (const json::value* value = payload.if_contains("exp")) {
    const auto time = read_time(*value, "exp");
    if (!time) return time.error();
    validity.expires_ns = *time;
  }
  return validity;
}

bool has_audience(const json::object& payload, std::string_view audience) {
  const json::value* value = payload.if_contains("aud");
  if (value == nullptr) return false;
  const auto is_wanted = [audience](const json::value& one) {
    const json::string* text = one.if_string();
    return text != nullptr && std::string_view(*text) == audience;
  };
  const json::array* list = value->if_array();
  return list == nullptr ? is_wanted(*value) : std::any_of(list->begin(), list->end(), is_wanted);
}

std::optional<std::string> read_claim(const json::object& payload, std::string_view name) {
  const json::value* value = payload.if_contains(name);
  if (value == nullptr) return std::nullopt;
  if (const json::string* text = value->if_string()) {
    if (text->empty()) return std::nullopt;
    return std::string(std::string_view(*text));
  }
  if (value->is_int64()) return std::to_string(value->get_int64());
  if (value->is_uint64()) return std::to_string(value->get_uint64());
  if (value->is_bool()) return value->get_bool() ? "true" : "false";
  return std::nullopt;
}

}  // namespace weir::jwt
