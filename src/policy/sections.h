// Sections: how each part of the file is read, one function a section, and its table for the
// reference.
//
// THREADS: see reader.h.

#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/policy.h"
#include "policy/reader.h"
#include "policy/schema.h"

namespace weir::policy {

// What readers of later sections need of earlier ones.
struct Scope {
  const std::vector<std::string>& declared;  // `attributes`
  const Identity& identity;
  bool may_read_files = true;  // what a match may be: a list in a file
};

// The words of `on_error`, which the store and each limit have.
inline constexpr std::array<std::pair<std::string_view, OnError>, 3> kOnErrorWords{
    {{"allow", OnError::kAllow}, {"deny", OnError::kDeny}, {"local", OnError::kLocal}}};

void read_policy(Reader& reader, const Entry& root, Policy& out);

// `mode` of the file as a whole.
void read_policy_mode(Reader& reader, const Entry& entry, Policy& out);
void read_store(Reader& reader, const Entry& entry, Policy& out);
void read_attributes(Reader& reader, const Entry& entry, Policy& out);
void read_identity(Reader& reader, const Entry& entry, Policy& out);
void read_limits(Reader& reader, const Entry& entry, Policy& out);
void read_exempt(Reader& reader, const Entry& entry, Policy& out);
void read_block(Reader& reader, const Entry& entry, Policy& out);
void read_response(Reader& reader, const Entry& entry, Policy& out);
void read_websocket(Reader& reader, const Entry& entry, Policy& out);
void read_paths(Reader& reader, const Entry& entry, Policy& out);
void read_gateway(Reader& reader, const Entry& entry, Policy& out);
void read_upstream(Reader& reader, const Entry& entry, UpstreamGroup& out);
void read_routes(Reader& reader, const Entry& entry, std::vector<Route>& out);
void read_api(Reader& reader, const Entry& entry, Policy& out);
void read_resp(Reader& reader, const Entry& entry, Policy& out);
void read_grpc(Reader& reader, const Entry& entry, Policy& out);
void read_admin(Reader& reader, const Entry& entry, Policy& out);
void read_metrics(Reader& reader, const Entry& entry, Policy& out);
void read_log(Reader& reader, const Entry& entry, Policy& out);

void document_store(std::vector<SectionDoc>& out);
void document_identity(std::vector<SectionDoc>& out);
void document_limits(std::vector<SectionDoc>& out);
void document_response(std::vector<SectionDoc>& out);
void document_gateway(std::vector<SectionDoc>& out);
void document_upstreams(std::vector<SectionDoc>& out);
void document_listeners(std::vector<SectionDoc>& out);
void document_telemetry(std::vector<SectionDoc>& out);

// The whole file, in the order of the reference.
std::vector<SectionDoc> document_policy();

}  // namespace weir::policy
