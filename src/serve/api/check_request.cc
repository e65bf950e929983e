#include "serve/api/check_request.h"

#include <boost/json/object.hpp>

#include "base/json.h"

namespace weir::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxAttributes = 64;

std::optional<BadField> read_attributes(const json::value& value, const policy::Policy& policy,
                                        SentAttributes& out) {
  const json::object* object = value.if_object();
  if (object == nullptr) return BadField{"attributes", "must be an object of strings"};
  if (object->size() > kMaxAttributes) {
    return BadField{"attributes", "there may be " + std::to_string(kMaxAttributes) + " at most"};
  }
  for (const auto& [name, text] : *object) {
    if (!text.is_string()) {
      return BadField{"attributes." + std::string(name), "must be a string"};
    }
    auto bad = out.add(name, text.get_string(), policy);
    if (bad) return bad;
  }
  return std::nullopt;
}

std::optional<BadField> read_cost(const json::value& value, std::optional<std::uint64_t>& out) {
  json::error_code error;
  const auto cost = value.to_number<std::uint64_t>(error);
  if (error || value.is_double()) {
    return BadField{"cost", "must be a whole number from 0 to 18446744073709551615"};
  }
  out = cost;
  return std::nullopt;
}

}  // namespace

std::optional<BadField> read_check(std::string_view body, const policy::Policy& policy,
                                   CheckRequest& out) {
  const auto parsed = parse_json(body);
  if (!parsed) return BadField{"", parsed.error().message};
  const json::object* object = parsed->if_object();
  if (object == nullptr) return BadField{"", "the body must be an object"};
  bool has_attributes = false;
  for (const auto& [name, value] : *object) {
    std::optional<BadField> bad;
    if (name == "attributes") {
      has_attributes = true;
      bad = read_attributes(value, policy, out.attributes);
    } else if (name == "cost") {
      bad = read_cost(value, out.cost);
    } else {
      bad = BadField{std::string(name), "is not known here; there are attributes and cost"};
    }
    if (bad) return bad;
  }
  if (!has_attributes) return BadField{"attributes", "is missing"};
  return std::nullopt;
}

}  // namespace weir::api
