// `store`: where counters live.

#include <array>

#include "policy/sections.h"

namespace weir::policy {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::array<std::string_view, 8> kSchemes{
    "memory://",         "redis://",          "rediss://",          "redis+cluster://",
    "rediss+cluster://", "redis+sentinel://", "rediss+sentinel://", "redis+unix://"};

void read_url(Reader& reader, const Entry& entry, Store& out) {
  const std::string* text = read_scalar(reader, entry, "memory:// or a redis URL");
  if (text == nullptr) return;
  if (text->find('@') != std::string::npos) reader.hide(*entry.value);  // holds a password
  for (std::string_view scheme : kSchemes) {
    if (!text->starts_with(scheme)) continue;
    if (scheme != "memory://") {
      if (text->size() == scheme.size()) {
        reader.mistake(entry.value->at,
                       "url names no server, wants " + std::string(scheme) + "host:6379/0");
      }
    } else if (*text != scheme) {
      reader.mistake(entry.value->at, "url has something after memory://, which takes nothing");
    }
    out.url = *text;
    return;
  }
  reader.mistake(entry.value->at, "url starts with no known scheme, wants " + join_words(kSchemes));
}

void read_instances(Reader& reader, const Entry& entry, Store& out) {
  if (entry.value->is_scalar() && entry.value->text == "auto") return;
  std::uint32_t instances = 0;
  if (read_number(reader, entry, instances, {1, 100'000})) out.instances = instances;
}

// WHY no braces: of the first pair in a key a Cluster makes the slot, and that is ours.
void read_prefix(Reader& reader, const Entry& entry, Store& out) {
  if (!read_text(reader, entry, out.prefix)) return;
  if (out.prefix.find_first_of("{}") == std::string::npos) return;
  reader.mistake(entry.value->at,
                 "prefix has a brace, wants none: braces say where a Cluster keeps a key");
}

constexpr std::uint64_t kMaxKeys = 1 << 30;  // what one memory store can hold

constexpr std::array kSnapshotFields{
    Field<Snapshot>{{"file", "path", kRequired, "The file to keep the counters in."},
                    [](Reader& r, const Entry& e, Snapshot& s) {
                      if (read_path(r, e, s.file) && s.file.empty()) {
                        r.mistake(e.value->at, "file is empty, wants the path of a file");
                      }
                    }},
    Field<Snapshot>{{"every", "duration, 1s to 1d", "60s", "How often it is written."},
                    [](Reader& r, const Entry& e, Snapshot& s) {
                      read_duration(r, e, s.every, {std::chrono::seconds(1), hours(24)});
                    }},
};

void read_snapshot(Reader& reader, const Entry& entry, Store& out) {
  read_fields<Snapshot>(reader, entry, kSnapshotFields, out.snapshot.emplace());
}

constexpr std::array kStoreFields{
    Field<Store>{{"url", "URL", "memory://",
                  "`memory://`, or one of `redis://[user:pass@]host:6379/0`, `rediss://...`, "
                  "`redis+cluster://h1,h2`, `redis+sentinel://h1,h2/mymaster`, "
                  "`redis+unix:///path`."},
                 read_url},
    Field<Store>{{"timeout", "duration, 1ms to 1m", "20ms", "How long one decision may take."},
                 [](Reader& r, const Entry& e, Store& s) {
                   read_duration(r, e, s.timeout, {milliseconds(1), std::chrono::minutes(1)});
                 }},
    Field<Store>{
        {"connect_timeout", "duration, 1ms to 1m", "1s",
         "How long a connection to the store may take."},
        [](Reader& r, const Entry& e, Store& s) {
          read_duration(r, e, s.connect_timeout, {milliseconds(1), std::chrono::minutes(1)});
        }},
    Field<Store>{{"on_error", "allow, deny or local", "allow",
                  "What a decision is when the store fails: let pass, refuse, or count in this "
                  "instance with its share."},
                 [](Reader& r, const Entry& e, Store& s) {
                   read_enum<OnError>(r, e, kOnErrorWords, s.on_error);
                 }},
    Field<Store>{{"instances", "auto or a whole number from 1", "auto",
                  "For `local`: among how many instances the numbers are shared out."},
                 read_instances},
    Field<Store>{{"deny_cache", "duration, up to 1m", "1s",
                  "How long a refused key is refused without asking the store; 0 is off."},
                 [](Reader& r, const Entry& e, Store& s) {
                   read_duration(r, e, s.deny_cache, {Duration(0), std::chrono::minutes(1)});
                 }},
    Field<Store>{{"prefix", "text", "\"weir:\"", "In front of every key in Redis; no braces."},
                 read_prefix},
    Field<Store>{{"max_keys", "whole number, 1000 to 1073741824", "1000000",
                  "Memory: how many counters are kept at most."},
                 [](Reader& r, const Entry& e, Store& s) {
                   read_count(r, e, s.max_keys, {1000, kMaxKeys});
                 }},
    Field<Store>{{"snapshot", "a mapping, see below", "",
                  "Memory: keeps the counters in a file over a restart."},
                 read_snapshot},
    Field<Store>{{"ca", "path", "", "TLS: certificates that the store's must be signed by."},
                 [](Reader& r, const Entry& e, Store& s) { read_path(r, e, s.ca); }},
    Field<Store>{{"cert", "path", "", "TLS: the client certificate."},
                 [](Reader& r, const Entry& e, Store& s) { read_path(r, e, s.cert); }},
    Field<Store>{{"key", "path", "", "TLS: its private key."},
                 [](Reader& r, const Entry& e, Store& s) { read_path(r, e, s.key); }},
    Field<Store>{
        {"server_name", "host name", "", "TLS: the name that the store's certificate has."},
        [](Reader& r, const Entry& e, Store& s) { read_text(r, e, s.server_name); }},
};

}  // namespace

void read_store(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Store>(reader, entry, kStoreFields, out.store);
}

void document_store(std::vector<SectionDoc>& out) {
  out.push_back(document<Store>("store", "", kStoreFields));
  out.push_back(document<Snapshot>("store.snapshot", "", kSnapshotFields));
}

}  // namespace weir::policy
