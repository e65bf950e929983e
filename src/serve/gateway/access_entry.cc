#include "serve/gateway/access_entry.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

#include "base/hex.h"
#include "base/json.h"
#include "base/seconds.h"
#include "engine/answer.h"
#include "wire/http1/trace_context.h"

namespace weir::gateway {
namespace {

constexpr std::size_t kMaxTarget = 2048;
constexpr std::size_t kMaxValue = 512;

// As nginx escapes: quotes, backslashes and what is not printable ASCII, as \xHH.
void append_escaped(std::string& out, std::string_view text, bool blanks_too) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7F && c != '"' && c != '\\') {
      out += c;
    } else if (c == ' ' && !blanks_too) {
      out += c;
    } else {
      out += "\\x";
      append_hex_byte(out, c, kUpperHexDigits);
    }
  }
}

std::string cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, most)) + "...";
}

tm calendar_of(std::int64_t wall_ns) {
  const time_t seconds = wall_ns / kNsPerSecond;
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  return utc;
}

// "30/Nov/2026:12:30:07 +0000"
std::string common_time(std::int64_t wall_ns) {
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const tm utc = calendar_of(wall_ns);
  char text[64];
  std::snprintf(text, sizeof text, "%02d/%s/%04d:%02d:%02d:%02d +0000", utc.tm_mday,
                kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return text;
}

// "2026-11-30T12:30:07.123Z"
std::string iso_time(std::int64_t wall_ns) {
  const tm utc = calendar_of(wall_ns);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900,
                utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                static_cast<int>(wall_ns / kNsPerMs % 1000));
  return text;
}

// Seconds, to the microsecond.
std::string seconds_text(std::int64_t ns) {
  const std::int64_t us = std::max<std::int64_t>(ns, 0) / 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(us / 1'000'000),
                static_cast<long long>(us % 1'000'000));
  return text;
}

std::string_view value_of(const http1::Found& found) {
  return found ? found.value : std::string_view();
}

std::string_view protocol_of(const http1::RequestHead& head) {
  return head.minor_version == 0 ? "HTTP/1.0" : "HTTP/1.1";
}

}  // namespace

AccessEntry::AccessEntry(const policy::AccessLog& settings, policy::KeyForm form, Instant began)
    : settings_(settings), tells_who_(form == policy::KeyForm::kPlain), began_(began) {
  if (json()) request_ = "{\"time\":\"" + iso_time(began.wall_ns) + "\"";
}

void AccessEntry::describe(const http1::RequestHead& head, const RequestFacts& facts) {
  const auto ip = facts.ip();
  const auto user = facts.find({policy::Attribute::Kind::kUser, {}});
  describe_request(head, ip ? ip->to_string() : std::string(), user.value_or(std::string_view()));
  if (!facts.request_id().empty()) add_text(decision_, "request_id", facts.request_id());
  if (const auto trace = http1::trace_id_of(value_of(head.headers.find("traceparent")))) {
    add_text(decision_, "trace_id", *trace);
  }
}

void AccessEntry::describe(const http1::RequestHead& head, std::string_view peer,
                           std::string_view request_id) {
  describe_request(head, peer, {});
  add_text(decision_, "request_id", request_id);
}

void AccessEntry::describe(std::string_view peer, std::string_view request_id) {
  add_text(decision_, "request_id", request_id);
  if (json()) {
    if (tells_who_) add_text(request_, "ip", peer);
    return;
  }
  request_ = tells_who_ ? peer : "-";
  request_ += " - - [" + common_time(began_.wall_ns) + "] \"-\"";
  agents_ = " \"-\" \"-\"";
}

void AccessEntry::describe_request(const http1::RequestHead& head, std::string_view ip,
                                   std::string_view user) {
  if (!tells_who_) ip = user = {};
  const std::string target = target_of(head);
  const std::string referer = referer_of(head);
  const std::string agent = cut(value_of(head.headers.find("user-agent")), kMaxValue);
  if (json()) {
    if (!ip.empty()) add_text(request_, "ip", ip);
    if (!user.empty()) add_text(request_, "user", user);
    add_text(request_, "method", head.method);
    add_text(request_, "target", target);
    add_text(request_, "protocol", protocol_of(head));
    if (!head.host.empty()) add_text(request_, "host", cut(head.host, kMaxValue));
    if (!referer.empty()) add_text(request_, "referer", referer);
    if (!agent.empty()) add_text(request_, "user_agent", agent);
    return;
  }
  request_ = ip.empty() ? "-" : std::string(ip);
  request_ += " - ";
  user.empty() ? void(request_ += '-') : append_escaped(request_, cut(user, kMaxValue), true);
  request_ += " [" + common_time(began_.wall_ns) + "] \"";
  append_escaped(request_, head.method, false);
  request_ += ' ';
  append_escaped(request_, target, true);
  request_ += ' ';
  request_ += protocol_of(head);
  request_ += '"';
  agents_ += ' ';
  add_quoted(agents_, referer);
  agents_ += ' ';
  add_quoted(agents_, agent);
}

std::string AccessEntry::target_of(const http1::RequestHead& head) const {
  std::string target(head.path);
  if (settings_.query && head.has_query) {
    target += '?';
    target += head.query;
  }
  return cut(target, kMaxTarget);
}

std::string AccessEntry::referer_of(const http1::RequestHead& head) const {
  std::string_view referer = value_of(head.headers.find("referer"));
  if (!settings_.query) referer = referer.substr(0, referer.find_first_of("?#"));
  return cut(referer, kMaxValue);
}

void AccessEntry::decided(const engine::Decision& decision) {
  decided_ = true;
  add_text(decision_, "decision", decision.allowed ? "allowed" : "denied");
  if (const engine::LimitDecision* named = decision.named_limit()) {
    add_text(decision_, "limit", named->name);
  }
  add_text(decision_, "source", to_string(decision.source));
  if (decision.reason != Reason::kNone) add_text(decision_, "reason", to_string(decision.reason));
  if (const auto wait = engine::retry_after_seconds(decision)) {
    add_number(decision_, "retry_after", std::to_string(*wait));
  }
}

std::string AccessEntry::line(int status, std::uint64_t bytes, bool early, Instant now) {
  std::string out = std::move(request_);
  if (json()) {
    add_number(out, "status", std::to_string(status));
    add_number(out, "bytes", std::to_string(bytes));
  } else {
    out += ' ' + std::to_string(status) + ' ' + std::to_string(bytes) + agents_;
  }
  if (!decided_) add_text(out, "decision", "none");
  out += decision_;
  if (early) add_text(out, "ended", "early");
  add_number(out, "seconds", seconds_text(now.steady_ns - began_.steady_ns));
  if (json()) out += '}';
  out += '\n';
  return out;
}

void AccessEntry::add_text(std::string& out, std::string_view name, std::string_view value) const {
  if (json()) {
    out += ",\"";
    out += name;
    out += "\":";
    append_json_string(out, value);
    return;
  }
  out += ' ';
  out += name;
  out += '=';
  append_escaped(out, value, true);
}

void AccessEntry::add_number(std::string& out, std::string_view name,
                             std::string_view digits) const {
  out += json() ? ",\"" : " ";
  out += name;
  out += json() ? "\":" : "=";
  out += digits;
}

void AccessEntry::add_quoted(std::string& out, std::string_view value) const {
  out += '"';
  value.empty() ? void(out += '-') : append_escaped(out, value, false);
  out += '"';
}

}  // namespace weir::gateway
