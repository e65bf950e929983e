// The file as a whole: the table of its sections, and `attributes`.

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <variant>

#include "policy/address.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

constexpr std::string_view kSection = "a mapping, see below";

constexpr Field<Policy> section(std::string_view name, std::string_view doc,
                                void (*read)(Reader&, const Entry&, Policy&),
                                Feature feature = Feature::kBuilt) {
  return {{name, kSection, "", doc, feature}, read};
}

void read_enabled(Reader& reader, const Entry& entry, Policy& out) {
  read_bool(reader, entry, out.enabled);
}

// `attributes` and `identity` come before `limits`, which need them, wherever the file has them.
constexpr std::array kRootFields{
    Field<Policy>{
        {"enabled", "true or false", "true", "`false` limits nothing: every request passes."},
        read_enabled},
    Field<Policy>{{"mode", "enforce or shadow", "enforce",
                   "`shadow`: every limit counts and tells, as with its own `mode: shadow`, and "
                   "nothing is refused."},
                  read_policy_mode},
    section("store", "Where counters live.", read_store),
    Field<Policy>{{"attributes", "list of names", "[]",
                   "Attributes that callers of the APIs may send beside the well-known ones."},
                  read_attributes},
    section("identity", "Where a request's attributes come from.", read_identity),
    Field<Policy>{
        {"limits", "list of limits", kRequired, "The limits, each one a mapping. `[]` for none."},
        read_limits},
    Field<Policy>{{"exempt", "list of matches", "[]",
                   "Requests that no limit counts. Each entry is written as `match` is."},
                  read_exempt},
    Field<Policy>{{"block", "list of matches", "[]",
                   "Requests that are refused, unless exempt. Each entry is written as "
                   "`match` is."},
                  read_block},
    section("response", "What a refused client gets.", read_response),
    section("websocket", "Where a message's kind and id stand.", read_websocket),
    section("paths", "How paths are compared.", read_paths),
    section("gateway", "The HTTP listener that forwards what it admits.", read_gateway),
    section("api", "The HTTP listener of the check API.", read_api),
    section("resp", "The listener for Redis clients.", read_resp, Feature::kResp),
    section("grpc", "The listener for Envoy's rate limit protocol.", read_grpc, Feature::kGrpc),
    section("admin", "The listener for metrics, health and operation.", read_admin),
    section("metrics", "What metrics tell of keys.", read_metrics),
    section("log", "What is logged, and how.", read_log),
};

bool is_well_known(std::string_view name) {
  return parse_attribute(name, {}).has_value() || name.starts_with("header.") ||
         name.starts_with("cookie.") || name.starts_with("query.") || name.starts_with("message.");
}

// Two listeners cannot have one port; told here, since the second would fail only at the start.
void check_listeners_differ(Reader& reader, const Node& root) {
  std::map<std::string, std::string> taken;  // address to the key that names it
  for (const Entry& section : root.entries) {
    const Entry* listen = section.value->find("listen");
    if (listen == nullptr || !listen->value->is_scalar()) continue;
    const Parsed<Address> parsed = parse_address(listen->value->text);
    const auto* address = std::get_if<Address>(&parsed);
    if (address == nullptr || address->port == 0) continue;
    const std::string name = section.key + ".listen";
    const auto [place, fresh] = taken.emplace(address->to_string(), name);
    if (fresh) continue;
    reader.mistake(listen->value->at, name + " is the address of " + place->second +
                                          " too, give each listener its own port");
  }
}

}  // namespace

void read_policy_mode(Reader& reader, const Entry& entry, Policy& out) {
  constexpr std::array<std::pair<std::string_view, Mode>, 2> kWords{
      {{"enforce", Mode::kEnforce}, {"shadow", Mode::kShadow}}};
  read_enum<Mode>(reader, entry, kWords, out.mode);
}

void read_policy(Reader& reader, const Entry& root, Policy& out) {
  read_fields<Policy>(reader, root, kRootFields, out);
  check_listeners_differ(reader, *root.value);
}

void read_attributes(Reader& reader, const Entry& entry, Policy& out) {
  for (const Entry& item : read_items(reader, entry, "a list of names, such as [plan, tenant]")) {
    std::string name;
    if (!read_name(reader, item, name)) continue;
    if (is_well_known(name)) {
      reader.mistake(item.at, "the attribute " + quote(name) + " is known already, leave it out");
    } else if (std::find(out.attributes.begin(), out.attributes.end(), name) !=
               out.attributes.end()) {
      reader.mistake(item.at, "the attribute " + quote(name) + " stands twice, keep one");
    } else {
      out.attributes.push_back(std::move(name));
    }
  }
}

std::vector<SectionDoc> document_policy() {
  std::vector<SectionDoc> out;
  out.push_back(document<Policy>("The file", "", kRootFields));
  document_store(out);
  document_identity(out);
  document_limits(out);
  document_response(out);
  document_gateway(out);
  document_listeners(out);
  document_telemetry(out);
  return out;
}

}  // namespace weir::policy
