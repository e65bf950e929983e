#include "serve/api/check_request.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <variant>

#include "base/json.h"
#include "policy/scalar.h"
#include "serve/api/plain_check.h"

namespace weir::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxKeyParts = 16;

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

std::optional<BadField> read_count(std::string_view field, const json::value& value,
                                   std::uint64_t& out) {
  json::error_code error;
  const auto count = value.to_number<std::uint64_t>(error);
  if (error || value.is_double()) {
    return BadField{std::string(field), "must be a whole number from 0 to 18446744073709551615"};
  }
  out = count;
  return std::nullopt;
}

std::optional<BadField> read_text(std::string_view field, const json::value& value,
                                  std::string& out) {
  const json::string* text = value.if_string();
  if (text == nullptr || text->size() > kMaxKeyBytes) {
    return BadField{std::string(field), "must be a string of at most 65536 bytes"};
  }
  out = std::string_view(*text);
  return std::nullopt;
}

std::optional<BadField> read_rate(const json::value& value, CheckRequest& out,
                                  std::uint64_t& amount) {
  const json::string* text = value.if_string();
  const auto parsed = policy::parse_rate(text == nullptr ? "" : std::string_view(*text));
  const auto* rate = std::get_if<policy::RateText>(&parsed);
  if (rate == nullptr) return BadField{"rate", "must be a rate such as 10/60s"};
  out.numbers.rate = rate->rate;
  amount = rate->amount;
  return std::nullopt;
}

// {"key":"user:1","rate":"10/60s","burst":5,"cost":1}
std::optional<BadField> read_adhoc(const json::object& object, const policy::Policy& policy,
                                   CheckRequest& out) {
  if (!policy.api || !policy.api->adhoc) {
    return BadField{"key", "ad-hoc limits are off: the policy has to say api.adhoc: true"};
  }
  out.adhoc = true;
  std::uint64_t amount = 0;
  bool has_key = false;
  for (const auto& [name, value] : object) {
    std::optional<BadField> bad;
    if (name == "key") {
      has_key = true;
      bad = read_text("key", value, out.key);
    } else if (name == "rate") {
      bad = read_rate(value, out, amount);
    } else if (name == "burst") {
      bad = read_count("burst", value, out.numbers.burst);
    } else if (name == "cost") {
      bad = read_count("cost", value, out.cost.emplace());
    } else {
      bad = BadField{std::string(name), "is not known here; there are key, rate, burst and cost"};
    }
    if (bad) return bad;
  }
  if (!has_key) return BadField{"key", "is missing"};
  if (amount == 0 && !object.contains("rate")) return BadField{"rate", "is missing"};
  if (!object.contains("burst")) out.numbers.burst = amount;
  return std::nullopt;
}

std::optional<BadField> read_one(const json::object& object, const policy::Policy& policy,
                                 CheckRequest& out) {
  if (object.contains("key") || object.contains("rate")) return read_adhoc(object, policy, out);
  bool has_attributes = false;
  for (const auto& [name, value] : object) {
    std::optional<BadField> bad;
    if (name == "attributes") {
      has_attributes = true;
      bad = read_attributes(value, policy, out.attributes);
    } else if (name == "cost") {
      bad = read_count("cost", value, out.cost.emplace());
    } else {
      bad = BadField{std::string(name), "is not known here; there are attributes and cost"};
    }
    if (bad) return bad;
  }
  if (!has_attributes) return BadField{"attributes", "is missing"};
  return std::nullopt;
}

std::optional<BadField> read_batch(const json::object& object, const policy::Policy& policy,
                                   CheckBody& out) {
  out.batch = true;
  if (object.size() > 1) return BadField{"checks", "stands alone: attributes and cost go inside"};
  const json::array* checks = object.at("checks").if_array();
  if (checks == nullptr) return BadField{"checks", "must be a list of checks"};
  if (checks->size() > kMaxChecks) return BadField{"checks", "there may be 1000 at most"};
  for (const json::value& value : *checks) {
    const std::string place = "checks[" + std::to_string(out.checks.size()) + "]";
    const json::object* one = value.if_object();
    if (one == nullptr) return BadField{place, "must be an object"};
    auto bad = read_one(*one, policy, out.checks.emplace_back());
    if (bad) return BadField{place + "." + bad->field, bad->message};
  }
  return std::nullopt;
}

// The body as an object, kept alive by `parsed`.
std::optional<BadField> read_object(const Result<json::value>& parsed,
                                    const json::object*& object) {
  if (!parsed) return BadField{"", parsed.error().message};
  object = parsed->if_object();
  if (object == nullptr) return BadField{"", "the body must be an object"};
  return std::nullopt;
}

std::optional<BadField> read_key_parts(const json::value& value, std::vector<std::string>& out) {
  const json::array* parts = value.if_array();
  if (parts == nullptr || parts->size() > kMaxKeyParts) {
    return BadField{"key", "must be a list of at most 16 strings"};
  }
  for (const json::value& part : *parts) {
    if (auto bad = read_text("key", part, out.emplace_back())) return bad;
  }
  return std::nullopt;
}

}  // namespace

std::optional<BadField> read_check(std::string_view body, const policy::Policy& policy,
                                   CheckBody& out) {
  out.batch = false;
  out.checks.resize(1);
  out.checks.front().clear();
  if (read_plain_check(body, policy, out.checks.front())) return std::nullopt;
  return read_check_strictly(body, policy, out);
}

std::optional<BadField> read_check_strictly(std::string_view body, const policy::Policy& policy,
                                            CheckBody& out) {
  out.batch = false;
  out.checks.clear();
  const auto parsed = parse_json(body);
  const json::object* object = nullptr;
  if (auto bad = read_object(parsed, object)) return bad;
  if (object->contains("checks")) return read_batch(*object, policy, out);
  return read_one(*object, policy, out.checks.emplace_back());
}

std::optional<BadField> read_key(std::string_view body, KeyRequest& out) {
  const auto parsed = parse_json(body);
  const json::object* object = nullptr;
  if (auto bad = read_object(parsed, object)) return bad;
  for (const auto& [name, value] : *object) {
    std::optional<BadField> bad;
    if (name == "key") {
      bad = read_key_parts(value, out.key);
    } else if (name == "cost") {
      bad = read_count("cost", value, out.cost);
    } else {
      bad = BadField{std::string(name), "is not known here; there are key and cost"};
    }
    if (bad) return bad;
  }
  return std::nullopt;
}

std::optional<BadField> read_id(std::string_view body, bool takes_cost, IdRequest& out) {
  const auto parsed = parse_json(body);
  const json::object* object = nullptr;
  if (auto bad = read_object(parsed, object)) return bad;
  for (const auto& [name, value] : *object) {
    std::optional<BadField> bad;
    if (name == "id") {
      bad = read_text("id", value, out.id);
    } else if (name == "cost" && takes_cost) {
      bad = read_count("cost", value, out.cost);
    } else {
      bad = BadField{std::string(name), takes_cost ? "is not known here; there are id and cost"
                                                   : "is not known here; there is id"};
    }
    if (bad) return bad;
  }
  if (!object->contains("id")) return BadField{"id", "is missing"};
  if (takes_cost && !object->contains("cost")) return BadField{"cost", "is missing"};
  return std::nullopt;
}

}  // namespace weir::api
