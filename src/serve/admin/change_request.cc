#include "serve/admin/change_request.h"

#include <boost/json/serialize.hpp>
#include <map>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/seconds.h"
#include "policy/scalar.h"
#include "wire/http1/query.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::int64_t kLatest = 9'000'000'000;  // Unix seconds whose nanoseconds 64 bits hold

Error bad_field(std::string_view field, std::string_view what) {
  return {ErrorCode::kInvalid, std::string(field) + " " + std::string(what)};
}

Result<json::object> read_object(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return value.error();
  json::object* object = value->if_object();
  if (object == nullptr) return bad_field("the body", "must be a JSON object");
  return std::move(*object);
}

Result<bool> read_end(std::string_view field, const json::value& value, Change& out) {
  if (const json::string* text = value.if_string()) {
    const auto parsed = policy::parse_duration(std::string_view(*text));
    const Duration* lasts = std::get_if<Duration>(&parsed);
    if (lasts != nullptr && *lasts > Duration{0}) {
      out.lasts = *lasts;
      return true;
    }
  }
  if (const std::int64_t* seconds = value.if_int64(); seconds != nullptr && *seconds >= 0) {
    if (*seconds <= kLatest) {
      out.until_ns = *seconds * kNsPerSecond;
      return true;
    }
  }
  return bad_field(field, "must be a duration such as 1h, or a Unix time in whole seconds");
}

}  // namespace

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // '/'
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    // In a path a '+' is a '+'; the decoder is that of queries.
    std::string written;
    for (const char c : part) c == '+' ? written += "%2B" : written += c;
    http1::append_decoded(parts.emplace_back(), written);
  }
  return parts;
}

std::vector<std::string> target_of(const std::vector<std::string>& parts) {
  if (parts.size() == 2 && parts[1] == "policy") return {"policy"};
  if (parts.size() < 3 || parts[1] != "limits") return {};
  if (parts.size() == 3) return {"limit", parts[2]};
  if (parts[3] != "overrides" || parts.size() < 5) return {};
  std::vector<std::string> target{"override", parts[2]};
  target.insert(target.end(), parts.begin() + 4, parts.end());
  return target;
}

Result<bool> read_set(std::string_view body, Change& out) {
  auto object = read_object(body);
  if (!object) return object.error();
  out.verb = Change::Verb::kSet;
  if (const json::value* expires = object->if_contains("expires")) {
    const Result<bool> read = read_end("expires", *expires, out);
    if (!read) return read;
    object->erase("expires");
  }
  if (object->empty()) return bad_field("the body", "changes nothing, wants what shall be changed");
  out.set = std::move(*object);
  return true;
}

Result<std::optional<BannedKey>> read_banned_key(std::string_view body) {
  auto object = read_object(body);
  if (!object) return object.error();
  const json::value* limit = object->if_contains("limit");
  if (limit == nullptr) return std::optional<BannedKey>();
  const json::value* key = object->if_contains("key");
  const json::array* values = key == nullptr ? nullptr : key->if_array();
  if (!limit->is_string() || values == nullptr || object->size() != 2) {
    return bad_field("the body", R"(wants {"limit":NAME,"key":[VALUE,...]}, or a match)");
  }
  BannedKey out{std::string(std::string_view(limit->get_string())), {}};
  for (const json::value& value : *values) {
    if (!value.is_string()) return bad_field("key", "wants texts");
    out.key.emplace_back(std::string_view(value.get_string()));
  }
  return std::optional(std::move(out));
}

Result<bool> read_ban(std::string_view body, Change& out) {
  auto object = read_object(body);
  if (!object) return object.error();
  for (const auto& [name, value] : *object) {
    if (name == "for") {
      const Result<bool> read = read_end("for", value, out);
      if (!read) return read;
    } else if (name == "match" && value.is_object()) {
      out.set = value.get_object();
    } else {
      return bad_field(name, "is not known here; there are match, an object, and for");
    }
  }
  if (out.set.empty()) {
    return bad_field("match", R"(is missing: say who is meant, such as {"ip":"203.0.113.7"})");
  }
  // One ban for one match, in whatever order its attributes stand.
  std::map<std::string, json::value> sorted;
  for (const auto& [name, value] : out.set) sorted.emplace(name, value);
  json::object ordered;
  for (auto& [name, value] : sorted) ordered[name] = value;
  out.target = {"ban", json::serialize(ordered)};
  return true;
}

}  // namespace weir::admin
