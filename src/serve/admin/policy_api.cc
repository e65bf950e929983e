#include "serve/admin/policy_api.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/seconds.h"
#include "engine/check_json.h"
#include "serve/admin/change_request.h"
#include "serve/http/problem.h"
#include "serve/http/token.h"
#include "wire/http1/query.h"
#include "wire/websocket/utf8.h"

namespace weir::admin {
namespace {

using Verb = Change::Verb;

// One call on its way.
struct Call {
  const ApiServices& services;
  const Access& access;
  const http::Request& request;
  http::Response& response;
  http::Done done;

  bool looks() const { return request.method == "GET" || request.method == "HEAD"; }
};

void refuse(const Call& call, int status, std::string_view detail) {
  http::set_problem(call.response, status, detail);
  call.done();
}

void refuse_method(const Call& call, std::string_view allowed) {
  call.response.add_header("Allow", allowed);
  refuse(call, 405, "this method is not answered here");
}

// Where a change came from, for the log: the address, and the name that the caller gives itself.
std::string who(const http::Request& request) {
  std::string name = request.peer.to_string();
  const http1::Found actor = request.headers.find("x-weir-actor");
  if (actor.count != 1 || actor.value.empty()) return name;
  name += " (";
  for (const char c : actor.value.substr(0, 64)) name += c >= 0x20 && c < 0x7f ? c : '?';
  return name + ')';
}

void fill(const PolicyStatus& status, Outcome outcome, http::Response& response) {
  if (outcome.status != 200) {
    http::set_problem(response, outcome.status, outcome.detail);
    if (outcome.mistakes.empty()) return;
    response.body.resize(response.body.rfind('}'));
    response.body += ",\"mistakes\":";
    append_texts(response.body, outcome.mistakes);
    response.body += "}\n";
    return;
  }
  response.content_type = "application/json";
  if (!outcome.json.empty()) {
    response.body = std::move(outcome.json);
    return;
  }
  response.body = "{\"done\":true";
  append_status(response.body, status);
  response.body += ",\"changes\":" + std::to_string(status.changes);
  response.body += status.persistent ? ",\"persistent\":true" : ",\"persistent\":false";
  if (!outcome.text.empty()) {
    response.body += ",\"text\":";
    append_json_string(response.body, outcome.text);
  }
  response.body += "}\n";
}

// Hands the call to the control thread, and answers on the connection's own loop.
void run(const Call& call, Change change) {
  change.who = who(call.request);
  Control& control = call.services.control;
  control.run(std::move(change), [&control, &response = call.response, loop = call.request.loop,
                                  done = call.done](Outcome outcome) {
    loop->post([&control, &response, done, outcome = std::move(outcome)] {
      fill(control.status(), outcome, response);
      done();
    });
  });
}

// To look is open as /metrics is.
bool may_look(const Call& call) {
  if (call.access.may_look) return true;
  http::refuse_without_token(call.response);
  call.done();
  return false;
}

bool may_change(const Call& call) {
  if (call.access.token.empty()) {
    refuse(call, 403, "changes want a token, and the policy has no admin.token");
    return false;
  }
  if (http::shows_token(call.request, call.access.token)) return true;
  http::refuse_without_token(call.response);
  call.done();
  return false;
}

void look_by(const Call& call, Verb verb) {
  if (!call.looks()) return refuse_method(call, "GET, HEAD");
  if (!may_look(call)) return;
  Change change;
  change.verb = verb;
  run(call, std::move(change));
}

void reload(const Call& call) {
  if (call.request.method != "POST") return refuse_method(call, "POST");
  if (!may_change(call)) return;
  Change change;
  change.verb = Verb::kReload;
  run(call, std::move(change));
}

std::string_view word(log::Level level) {
  switch (level) {
    case log::Level::kInfo:
      return "info";
    case log::Level::kWarning:
      return "warning";
    case log::Level::kError:
      return "error";
  }
  return "";
}

// "after=7"; 0 where the query does not say. Nothing where that is no number.
std::optional<std::uint64_t> event_after(std::string_view query) {
  std::string scratch;
  const http1::Found found = http1::find_query(query, "after", scratch);
  if (found.count == 0) return 0;
  std::uint64_t after = 0;
  const char* const end = found.value.data() + found.value.size();
  const auto [read, error] = std::from_chars(found.value.data(), end, after);
  if (found.count > 1 || error != std::errc() || read != end) return std::nullopt;
  return after;
}

// `{"events":[{"id":7,"at":"2024-05-01T12:00:00Z","level":"info","text":"..."}]}`
void events(const Call& call) {
  if (!call.looks()) return refuse_method(call, "GET, HEAD");
  if (!may_look(call)) return;
  const auto after = event_after(call.request.query);
  if (!after) return refuse(call, 400, "after must be the id of an event, a whole number");
  std::string& body = call.response.body;
  body = "{\"events\":[";
  for (const Event& event : call.services.events.since(*after)) {
    if (body.back() != '[') body += ',';
    body += "{\"id\":" + std::to_string(event.number) + ",\"at\":\"" +
            utc(event.unix_ms * kNsPerMs) + "\",\"level\":\"" + std::string(word(event.level)) +
            "\",\"text\":";
    append_json_string(body, event.text);
    body += '}';
  }
  body += "]}\n";
  call.response.content_type = "application/json";
  call.done();
}

void refuse_key(const Call& call, const Error& error) {
  const bool unknown = error.code == ErrorCode::kNotFound;
  http::set_problem(call.response, unknown ? 404 : 400, error.message, unknown ? "" : "key");
  call.done();
}

// Lifts a ban that a limit has made.
void lift(const Call& call, const BannedKey& banned) {
  const auto lifted =
      call.services.engine.lift_ban(banned.limit, banned.key, call.services.clock.now());
  if (!lifted) return refuse_key(call, lifted.error());
  if (!*lifted) return refuse(call, 404, "this key is not banned");
  log::info("ban: a key of limit " + banned.limit + " is banned no more, by: " + who(call.request));
  call.response.content_type = "application/json";
  call.response.body = "{\"lifted\":true}\n";
  call.done();
}

void bans(const Call& call) {
  if (call.looks()) return look_by(call, Verb::kBans);
  const bool set = call.request.method == "POST";
  if (!set && call.request.method != "DELETE") return refuse_method(call, "GET, POST, DELETE");
  if (!may_change(call)) return;
  if (!set) {
    const auto key = read_banned_key(call.request.body);
    if (!key) return refuse(call, 400, key.error().message);
    if (*key) return lift(call, **key);
  }
  Change change;
  const Result<bool> read = read_ban(call.request.body, change);
  if (!read) return refuse(call, 400, read.error().message);
  change.verb = set ? Verb::kSet : Verb::kRemove;
  run(call, std::move(change));
}

// PUT changes what the path names, DELETE takes that back.
void change_target(const Call& call, std::vector<std::string> target) {
  const bool put = call.request.method == "PUT";
  if (!put && call.request.method != "DELETE") return refuse_method(call, "PUT, DELETE");
  if (!may_change(call)) return;
  Change change;
  change.verb = Verb::kRemove;
  if (put) {
    const Result<bool> read = read_set(call.request.body, change);
    if (!read) return refuse(call, 400, read.error().message);
    // Changes are kept and told as JSON.
    if (!std::all_of(target.begin(), target.end(), websocket::is_utf8)) {
      return refuse(call, 400, "the path names a limit or a key that is not UTF-8");
    }
  }
  change.target = std::move(target);
  run(call, std::move(change));
}

// "key=user-42&key=free": the values in the order of the limit's key.
std::vector<std::string> key_values(std::string_view query) {
  std::vector<std::string> values;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.starts_with("key=")) http1::append_decoded(values.emplace_back(), pair.substr(4));
  }
  return values;
}

// GET looks at one key's counters, DELETE resets them.
void key_of(const Call& call, const std::string& limit) {
  const auto values = key_values(call.request.query);
  if (call.looks()) {
    if (!may_look(call)) return;
    const auto told = call.services.engine.take(
        limit, values, call.services.clock.now(), 0,
        [&response = call.response, done = call.done](const engine::Decision& decision) {
          response.content_type = "application/json";
          engine::append_check_json(decision, "", response.body);
          response.body += '\n';
          done();
        });
    if (!told) refuse_key(call, told.error());
    return;
  }
  if (call.request.method != "DELETE") return refuse_method(call, "GET, DELETE");
  if (!may_change(call)) return;
  const auto reset = call.services.engine.reset(
      limit, values, call.services.clock.now(),
      [limit, by = who(call.request), &response = call.response,
       done = call.done](const store::Correction& made) {
        if (made.outcome == store::Correction::Outcome::kUnknown) {
          http::set_problem(response, 503,
                            "the store did not answer, and may have done it or not: ask again");
          return done();
        }
        log::info("reset: a key of limit " + limit + " is fresh again, by: " + by);
        response.content_type = "application/json";
        response.body = "{\"reset\":true}\n";
        done();
      });
  if (!reset) refuse_key(call, reset.error());
}

void route(const Call& call) {
  const std::string_view path = call.request.path;
  if (path == "/v1/policy:reload") return reload(call);
  if (path == "/v1/policy" && call.looks()) return look_by(call, Verb::kShow);
  if (path == "/v1/changes") return look_by(call, Verb::kList);
  if (path == "/v1/events") return events(call);
  if (path == "/v1/bans") return bans(call);
  const std::vector<std::string> parts = path_parts(path);
  if (parts.size() == 4 && parts[1] == "limits" && parts[3] == "keys")
    return key_of(call, parts[2]);
  std::vector<std::string> target = target_of(parts);
  if (!target.empty()) return change_target(call, std::move(target));
  refuse(call, 404,
         "there are /v1/policy, /v1/policy:reload, /v1/changes, /v1/events, /v1/bans, "
         "/v1/limits/NAME, and of a limit overrides/KEY and keys?key=KEY");
}

}  // namespace

std::string utc(std::int64_t unix_ns) {
  const time_t seconds = unix_ns / kNsPerSecond;
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, texts[i]);
  }
  out += ']';
}

void append_status(std::string& out, const PolicyStatus& status) {
  out += ",\"generation\":" + std::to_string(status.generation) + ",\"policy\":";
  append_json_string(out, status.source);
  out += ",\"hash\":";
  append_json_string(out, status.hash);
  out += ",\"loaded_at\":\"" + utc(status.loaded_at_ns) + '"';
}

void policy_api(const ApiServices& services, const Access& access, const http::Request& request,
                http::Response& response, http::Done done) {
  route(Call{services, access, request, response, std::move(done)});
}

}  // namespace weir::admin
