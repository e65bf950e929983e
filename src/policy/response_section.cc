// `response`, `websocket`, `paths`: what clients get, and how requests are read.

#include <algorithm>
#include <array>

#include "policy/body_template.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

constexpr std::array<std::pair<std::string_view, HeaderFamily>, 3> kFamilies{
    {{"x-ratelimit", HeaderFamily::kXRateLimit},
     {"ratelimit", HeaderFamily::kRateLimit},
     {"retry-after", HeaderFamily::kRetryAfter}}};

void read_headers(Reader& reader, const Entry& entry, Response& out) {
  const std::size_t before = reader.mistakes();
  std::vector<HeaderFamily> families;
  for (const Entry& item : read_items(reader, entry,
                                      "a list of x-ratelimit, ratelimit and "
                                      "retry-after")) {
    HeaderFamily family{};
    if (!read_enum<HeaderFamily>(reader, item, kFamilies, family)) continue;
    if (std::find(families.begin(), families.end(), family) != families.end()) {
      reader.mistake(item.at, "headers has " + item.value->text + " twice, keep one");
      continue;
    }
    families.push_back(family);
  }
  if (reader.mistakes() == before) out.headers = std::move(families);
}

void read_template(Reader& reader, const Entry& entry, Response& out) {
  if (!read_path(reader, entry, out.template_file)) return;
  auto made = BodyTemplate::load(out.template_file);
  if (!made) return reader.mistake(entry.value->at, "body: " + made.error().message);
  out.body = BodyFormat::kTemplate;
  out.body_template = std::move(*made);
}

void read_body(Reader& reader, const Entry& entry, Response& out) {
  const std::string* text = read_scalar(reader, entry, "json, problem+json or a file");
  if (text == nullptr) return;
  if (*text == "json") {
    out.body = BodyFormat::kJson;
  } else if (*text == "problem+json") {
    out.body = BodyFormat::kProblemJson;
  } else if (text->find_first_of("./") != std::string::npos) {
    read_template(reader, entry, out);
  } else {
    reader.mistake(entry.value->at, "body is " + quote(entry.value->shown()) +
                                        ", wants json, problem+json or the path of a file");
  }
}

// "https://example.org:8443": what stands in an Origin header, which has no path and no capitals.
bool is_origin(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return false;
  const auto lower = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  if (!std::all_of(text.begin(), text.begin() + static_cast<long>(scheme), lower)) return false;
  const std::string_view rest = text.substr(scheme + 3);
  return !rest.empty() && rest.size() <= 255 && std::all_of(rest.begin(), rest.end(), [&](char c) {
    return lower(c) || c == ':' || c == '[' || c == ']';
  });
}

void read_origins(Reader& reader, const Entry& entry, Cors& out) {
  const std::vector<Entry> items = read_items(reader, entry, "https://example.org");
  if (items.empty()) reader.mistake(entry.value->at, "cors is an empty list, wants origins or off");
  for (const Entry& item : items) {
    std::string origin;
    if (!read_text(reader, item, origin)) continue;
    if (is_origin(origin)) {
      out.origins.push_back(std::move(origin));
      continue;
    }
    reader.mistake(item.at,
                   "cors has " + quote(item.value->shown()) +
                       ", wants an origin as browsers send it, such as "
                       "https://example.org: no path, no capitals",
                   origin == "*" ? "write cors: echo for any origin" : "");
  }
}

void read_cors(Reader& reader, const Entry& entry, Response& out) {
  Cors cors;
  if (entry.value->kind == Node::Kind::kSequence) {
    read_origins(reader, entry, cors);
  } else {
    cors.any_origin = read_word(reader, entry, {"off", "echo"}) == 1;
  }
  out.cors = std::move(cors);
}

constexpr std::array kResponseFields{
    Field<Response>{{"status", "whole number, 400 to 599", "429", "The status of a refusal."},
                    [](Reader& r, const Entry& e, Response& o) {
                      read_number(r, e, o.status, {400, 599});
                    }},
    Field<Response>{{"headers", "list of x-ratelimit, ratelimit and retry-after",
                     "[x-ratelimit, ratelimit, retry-after]",
                     "Which families of headers tell of limits. `[]` for none."},
                    read_headers},
    Field<Response>{{"body", "json, problem+json or a file", "json",
                     "The body of a refusal. A file, .json, .html, .xml or .txt, may hold "
                     "placeholders such as `{{retry_after}}`."},
                    read_body},
    Field<Response>{{"cors", "off, echo or a list of origins", "off",
                     "Pages of which origins a browser lets read the gateway's own answers: none, "
                     "any (`echo`), or those listed."},
                    read_cors},
    Field<Response>{
        {"shadow_header", "true or false", "false",
         "Names in a header the shadow limits that would have refused."},
        [](Reader& r, const Entry& e, Response& o) { read_bool(r, e, o.shadow_header); }},
    Field<Response>{{"retry_jitter", "duration, up to 1h", "0s",
                     "Lengthens Retry-After by up to this much at random, so that refused clients "
                     "do not come back at once."},
                    [](Reader& r, const Entry& e, Response& o) {
                      read_duration(r, e, o.retry_jitter, {Duration(0), std::chrono::hours(1)});
                    }},
};

void read_pointer(Reader& reader, const Entry& entry, std::string& out) {
  const std::string* text = read_scalar(reader, entry, "a JSON pointer such as /type");
  if (text == nullptr) return;
  if (!parse_attribute("message." + *text, {})) {
    reader.mistake(entry.value->at, entry.key + " is " + quote(entry.value->shown()) +
                                        ", wants a JSON pointer such as /type");
    return;
  }
  out = *text;
}

constexpr std::array<std::pair<std::string_view, Unreadable>, 3> kUnreadableWords{
    {{"refuse", Unreadable::kRefuse}, {"pass", Unreadable::kPass}, {"close", Unreadable::kClose}}};

constexpr std::array kWebSocketFields{
    Field<WebSocket>{{"kind", "JSON pointer", "/type", "Where a message says of what kind it is."},
                     [](Reader& r, const Entry& e, WebSocket& w) { read_pointer(r, e, w.kind); }},
    Field<WebSocket>{
        {"request_id", "JSON pointer", "/request_id",
         "Where a message has the id that its refusal repeats."},
        [](Reader& r, const Entry& e, WebSocket& w) { read_pointer(r, e, w.request_id); }},
    Field<WebSocket>{
        {"max_inspect", "size, 1KiB to 64MiB", "1MiB", "The largest message that is read."},
        [](Reader& r, const Entry& e, WebSocket& w) {
          read_size(r, e, w.max_inspect, {1 << 10, 64 << 20});
        }},
    Field<WebSocket>{{"unreadable", "refuse, pass or close", "refuse",
                      "What happens to a message that is no JSON, names its kind twice, or is over "
                      "max_inspect."},
                     [](Reader& r, const Entry& e, WebSocket& w) {
                       read_enum<Unreadable>(r, e, kUnreadableWords, w.unreadable);
                     }},
    Field<WebSocket>{{"close_after", "whole number, up to 1000000", "0",
                      "Closes a connection with 1008 after so many refused messages in a row. `0` "
                      "never does."},
                     [](Reader& r, const Entry& e, WebSocket& w) {
                       read_number(r, e, w.close_after, {0, 1'000'000});
                     }},
};

// A key that is one of two words: `word` for true.
template <bool Paths::*kMember>
void read_choice(Reader& reader, const Entry& entry, Paths& out, std::string_view word,
                 std::string_view other) {
  const int index = read_word(reader, entry, {word, other});
  if (index >= 0) out.*kMember = index == 0;
}

constexpr std::array kPathsFields{
    Field<Paths>{{"merge_slashes", "true or false", "true", "`//` is `/`, for the upstream too."},
                 [](Reader& r, const Entry& e, Paths& p) { read_bool(r, e, p.merge_slashes); }},
    Field<Paths>{
        {"trailing_slash", "ignore or keep", "ignore", "For matching only: whether `/a/` is `/a`."},
        [](Reader& r, const Entry& e, Paths& p) {
          read_choice<&Paths::ignore_trailing_slash>(r, e, p, "ignore", "keep");
        }},
    Field<Paths>{
        {"params", "ignore or keep", "ignore", "For matching only: whether `/a;x=1` is `/a`."},
        [](Reader& r, const Entry& e, Paths& p) {
          read_choice<&Paths::ignore_params>(r, e, p, "ignore", "keep");
        }},
    Field<Paths>{{"case", "keep or fold", "keep", "For matching only: whether `/A` is `/a`."},
                 [](Reader& r, const Entry& e, Paths& p) {
                   read_choice<&Paths::fold_case>(r, e, p, "fold", "keep");
                 }},
    Field<Paths>{{"encoded_slash", "keep or refuse", "keep",
                  "`%2F` in a path: keep it and match both readings, or answer 400."},
                 [](Reader& r, const Entry& e, Paths& p) {
                   read_choice<&Paths::keep_encoded_slash>(r, e, p, "keep", "refuse");
                 }},
};

}  // namespace

bool Response::sends(HeaderFamily family) const {
  return std::find(headers.begin(), headers.end(), family) != headers.end();
}

bool Cors::admits(std::string_view origin) const {
  return any_origin || std::find(origins.begin(), origins.end(), origin) != origins.end();
}

void read_response(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Response>(reader, entry, kResponseFields, out.response);
}

void read_websocket(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<WebSocket>(reader, entry, kWebSocketFields, out.websocket);
}

void read_paths(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Paths>(reader, entry, kPathsFields, out.paths);
}

void document_response(std::vector<SectionDoc>& out) {
  out.push_back(document<Response>("response", "", kResponseFields));
  out.push_back(document<WebSocket>("websocket", "", kWebSocketFields));
  out.push_back(document<Paths>("paths", "", kPathsFields));
}

}  // namespace weir::policy
