#include "store/redis/handshake.h"

#include <array>

#include "store/redis/refusal.h"
#include "store/redis/script.h"
#include "wire/resp/writer.h"

namespace weir::store::redis {
namespace {

// AUTH needs the user's name beside the password; the nameless one is called default.
std::string_view name_of(const Credentials& credentials) {
  return credentials.username.empty() ? std::string_view("default") : credentials.username;
}

bool speaks_resp2_only(std::string_view error) {
  return error.starts_with("NOPROTO") || error.find("unknown command") != std::string_view::npos;
}

using GetScript = const Script& (*)();
constexpr std::array<GetScript, 3> kScripts = {bucket_script, charge_script, correct_script};

}  // namespace

std::string Handshake::next() const {
  std::string out;
  switch (step_) {
    case Step::kHello:
      if (options_.credentials.empty()) {
        resp::append_command(out, {"HELLO", "3"});
      } else {
        resp::append_command(out, {"HELLO", "3", "AUTH", name_of(options_.credentials),
                                   options_.credentials.password});
      }
      break;
    case Step::kAuth:
      if (options_.credentials.username.empty()) {
        resp::append_command(out, {"AUTH", options_.credentials.password});
      } else {
        resp::append_command(
            out, {"AUTH", options_.credentials.username, options_.credentials.password});
      }
      break;
    case Step::kSelect:
      resp::append_command(out, {"SELECT", std::to_string(options_.database)});
      break;
    case Step::kInfo:
      resp::append_command(out, {"CLIENT", "SETINFO", "LIB-NAME", "weir"});
      break;
    case Step::kScripts:
      resp::append_command(out, {"SCRIPT", "LOAD", kScripts[loaded_]().text()});
      break;
    case Step::kDone:
      break;
  }
  return out;
}

Handshake::Progress Handshake::receive(const resp::Reply& reply) {
  switch (step_) {
    case Step::kHello:
      return receive_hello(reply);
    case Step::kAuth:
      return reply.is_error() ? refused(reply) : go_on(Step::kSelect);
    case Step::kSelect:
      return reply.is_error() ? refused(reply) : go_on(Step::kInfo);
    case Step::kInfo:
      return go_on(options_.sentinel ? Step::kDone : Step::kScripts);
    case Step::kScripts:
      return go_on(++loaded_ < kScripts.size() ? Step::kScripts : Step::kDone);
    case Step::kDone:
      break;
  }
  return go_on(Step::kDone);
}

Handshake::Progress Handshake::receive_hello(const resp::Reply& reply) {
  if (reply.is_error()) {
    if (!speaks_resp2_only(reply.text())) return refused(reply);
    return go_on(options_.credentials.empty() ? Step::kSelect : Step::kAuth);
  }
  const resp::Reply mode = reply.find("mode");
  const resp::Reply role = reply.find("role");
  resp3_ = reply.is(resp::Type::kMap);
  replica_ = role.valid() && role.text() != "master";
  const std::string_view is = mode.valid() ? mode.text() : "standalone";
  if (is == "cluster" && !options_.cluster) {
    return fail("the server runs in cluster mode; write store.url as redis+cluster://");
  }
  if (is == "standalone" && options_.cluster) {
    return fail("the server does not run in cluster mode; write store.url as redis://");
  }
  if ((is == "sentinel") != options_.sentinel) {
    return fail(options_.sentinel
                    ? "the server is no sentinel; redis+sentinel:// names sentinels"
                    : "the server is a sentinel; write store.url as redis+sentinel://");
  }
  return go_on(Step::kSelect);
}

Handshake::Progress Handshake::go_on(Step step) {
  if (step == Step::kSelect && options_.database == 0) step = Step::kInfo;
  step_ = step;
  return step == Step::kDone ? Progress::kDone : Progress::kGoesOn;
}

Handshake::Progress Handshake::fail(std::string message) {
  error_ = std::move(message);
  return Progress::kFailed;
}

// WHY not the server's own words for a wrong password: nothing that may hold one is repeated.
Handshake::Progress Handshake::refused(const resp::Reply& reply) {
  if (refusal_of(reply.text()) == Refusal::kDenied) {
    return fail("the server refuses the user or the password of store.url");
  }
  return fail("the server answered: " + std::string(reply.text()));
}

}  // namespace weir::store::redis
