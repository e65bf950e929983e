#include "app/changes.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <variant>

#include "app/top.h"
#include "base/hex.h"
#include "base/json.h"
#include "policy/scalar.h"
#include "tools/admin_client.h"

namespace weir::app {
namespace {

namespace json = boost::json;
using tools::AdminAnswer;

int usage(const std::string& message) {
  std::fprintf(stderr, "weir: %s\n", message.c_str());
  return kExitUsage;
}

// Prints what was answered, for people: the mistakes, or that it is done.
int tell_refusal(const AdminAnswer& answer) {
  const auto value = parse_json(answer.body);
  const json::object* problem = value ? value->if_object() : nullptr;
  const json::value* detail = problem == nullptr ? nullptr : problem->if_contains("detail");
  const bool told = detail != nullptr && detail->is_string();
  std::fprintf(stderr, "weir: %s\n",
               told ? detail->get_string().c_str()
                    : ("refused, with status " + std::to_string(answer.status)).c_str());
  const json::value* mistakes = told ? problem->if_contains("mistakes") : nullptr;
  if (mistakes != nullptr && mistakes->is_array()) {
    for (const json::value& one : mistakes->get_array()) {
      if (one.is_string()) std::fprintf(stderr, "  %s\n", one.get_string().c_str());
    }
  }
  if (answer.status == 401 || answer.status == 403) {
    std::fprintf(stderr, "  give the policy's admin.token by --token or WEIR_ADMIN_TOKEN\n");
  }
  return kExitFailed;
}

int fail(const Error& error) {
  std::fprintf(stderr, "weir: %s\n", error.message.c_str());
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
}

int tell_change(const Result<AdminAnswer>& answer) {
  if (!answer) return fail(answer.error());
  if (answer->status != 200) return tell_refusal(*answer);
  const auto value = parse_json(answer->body);
  const json::object* done = value ? value->if_object() : nullptr;
  const json::value* generation = done == nullptr ? nullptr : done->if_contains("generation");
  if (generation == nullptr) {
    std::fputs(answer->body.c_str(), stdout);
    return kExitOk;
  }
  const json::value* persistent = done->if_contains("persistent");
  const bool kept = persistent != nullptr && persistent->is_bool() && persistent->get_bool();
  std::printf("done: generation %s is in force%s\n", json::serialize(*generation).c_str(),
              kept ? "" : "; it is forgotten when weir ends (persistent: false)");
  return kExitOk;
}

int print_body(const Result<AdminAnswer>& answer) {
  if (!answer) return fail(answer.error());
  // A refused look is an answer too: 429 is what the limit says.
  if (answer->status != 200) return tell_refusal(*answer);
  std::fputs(answer->body.c_str(), stdout);
  return kExitOk;
}

Result<AdminAnswer> call_admin(const AdminOptions& options, std::string_view method,
                               const std::string& target, std::string_view body = {}) {
  const auto client = client_for(options);
  if (!client) return client.error();
  return client->ask(method, target, body);
}

// `text` as one part of a path or query.
std::string path_part(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      append_hex_byte(out, c, kUpperHexDigits);
    }
  }
  return out;
}

std::string key_query(const std::vector<std::string>& key) {
  std::string out;
  for (const std::string& value : key) out += (out.empty() ? "?key=" : "&key=") + path_part(value);
  return out;
}

// "burst=50" is a number where it looks like one, else a text.
json::value value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const auto count = policy::parse_count(text);
  if (const auto* number = std::get_if<std::uint64_t>(&count)) return *number;
  return json::value(text);
}

// "rate=5/s burst=50" as an object. The word that is wrong, else empty.
std::string read_fields(const std::vector<std::string>& words, json::object& out) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos) return word;
    const std::string name = word.substr(0, equals);
    const std::string text = word.substr(equals + 1);
    // Rates and durations may be bare numbers; as texts they are read all the same.
    out[name] = name == "rate" || name == "window" || name == "timeout" ? json::value(text)
                                                                        : value_of(text);
  }
  return {};
}

std::string set_path(const SetOptions& options) {
  if (options.limit.empty()) return "/v1/policy";
  std::string path = "/v1/limits/" + path_part(options.limit);
  if (options.key.empty()) return path;
  path += "/overrides";
  for (const std::string& value : options.key) path += '/' + path_part(value);
  return path;
}

}  // namespace

int run_set(const SetOptions& options) {
  if (options.remove) {
    return tell_change(call_admin(options.admin, "DELETE", set_path(options)));
  }
  json::object body;
  const std::string wrong = read_fields(options.fields, body);
  if (!wrong.empty()) return usage("'" + wrong + "' is no NAME=VALUE, such as rate=5/s");
  if (body.empty()) return usage("set wants what to set, such as rate=5/s burst=50, or --remove");
  if (!options.lasts.empty()) body["expires"] = options.lasts;
  return tell_change(call_admin(options.admin, "PUT", set_path(options), json::serialize(body)));
}

int run_get(const GetOptions& options) {
  if (options.limit.empty()) return print_body(call_admin(options.admin, "GET", "/v1/changes"));
  return print_body(
      call_admin(options.admin, "GET",
                 "/v1/limits/" + path_part(options.limit) + "/keys" + key_query(options.key)));
}

int run_reset(const ResetOptions& options) {
  return tell_change(
      call_admin(options.admin, "DELETE",
                 "/v1/limits/" + path_part(options.limit) + "/keys" + key_query(options.key)));
}

int run_ban(const BanOptions& options) {
  json::object match;
  const std::string wrong = read_fields(options.match, match);
  if (!wrong.empty()) return usage("'" + wrong + "' is no NAME=VALUE, such as ip=203.0.113.7");
  for (auto& [name, value] : match) {
    if (!value.is_string()) value = json::serialize(value);  // what requests hold is text
  }
  json::object body;
  body["match"] = match;
  if (!options.lasts.empty() && !options.remove) body["for"] = options.lasts;
  return tell_change(call_admin(options.admin, options.remove ? "DELETE" : "POST", "/v1/bans",
                                json::serialize(body)));
}

}  // namespace weir::app
