#include "wire/http1/request.h"

#include <algorithm>
#include <cstring>

#include "base/letters.h"
#include "wire/http1/scan.h"
#include "wire/http1/version.h"

namespace weir::http1 {

namespace {

constexpr std::uint32_t kMaxMethodBytes = 32;  // longer ones are not known to anybody
constexpr std::uint32_t kMaxHeadBytes = 16 * 1024 * 1024;

Limits bounded(Limits limits) {
  limits.max_head_bytes = std::min(limits.max_head_bytes, kMaxHeadBytes);
  limits.max_target_bytes = std::min(limits.max_target_bytes, limits.max_head_bytes);
  return limits;
}

}  // namespace

RequestParser::RequestParser(const Limits& limits)
    : limits_(bounded(limits)), fields_(limits.max_headers) {}

// Each step goes on where the one before it ended, and falls into the next.
Progress RequestParser::parse(std::string_view data) {
  const std::string_view in = data.substr(0, limits_.max_head_bytes);
  if (state_ == State::kStart) take_whole_line(in);
  switch (state_) {
    case State::kStart:
      if (!start(in)) break;
      if (state_ == State::kEmptyLine && !take_empty_line(in)) break;
      [[fallthrough]];
    case State::kMethod:
      if (!take_method(in)) break;
      [[fallthrough]];
    case State::kTarget:
      if (!take_target(in)) break;
      [[fallthrough]];
    case State::kVersion:
      if (!take_version(in)) break;
      [[fallthrough]];
    case State::kFields:
      if (take_fields(in)) return Progress::kComplete;
      break;
    case State::kEmptyLine:
      if (take_empty_line(in)) return parse(data);
      break;
    case State::kComplete:
      return Progress::kComplete;
    case State::kError:
      return Progress::kError;
  }
  if (state_ == State::kError) return Progress::kError;
  if (in.size() < limits_.max_head_bytes) return Progress::kNeedMore;
  fail(431, "head of the request is too large; send fewer or shorter headers");
  return Progress::kError;
}

// The line of nearly every request, once it has arrived whole. What is unusual in any way is left
// to the steps below, which know how to wait and how to refuse.
bool RequestParser::take_whole_line(std::string_view data) {
  constexpr std::string_view kEnd = " HTTP/1.1\r\n";
  const char* const begin = data.data();
  const char* const end = begin + data.size();
  const char* method_end = begin;
  while (method_end != end && *method_end >= 'A' && *method_end <= 'Z') ++method_end;
  const auto method_size = static_cast<std::uint32_t>(method_end - begin);
  if (method_size == 0 || method_size > kMaxMethodBytes) return false;
  if (end - method_end < 2 || method_end[0] != ' ' || method_end[1] != '/') return false;
  if (data.substr(0, method_size) == "CONNECT") return false;

  const char* const target = method_end + 1;
  const char* const path_end = skip_path(target, end);
  const char* const target_end =
      path_end != end && *path_end == '?' ? skip_target(path_end, end) : path_end;
  if (target_end - target > static_cast<std::ptrdiff_t>(limits_.max_target_bytes)) return false;
  if (end - target_end < static_cast<std::ptrdiff_t>(kEnd.size())) return false;
  if (std::memcmp(target_end, kEnd.data(), kEnd.size()) != 0) return false;

  method_ = {0, method_size};
  target_ = {method_size + 1, static_cast<std::uint32_t>(target_end - target)};
  path_size_ = static_cast<std::uint32_t>(path_end - target);
  head_.minor_version = 1;
  position_ = static_cast<std::uint32_t>(target_end - begin + kEnd.size());
  state_ = State::kFields;
  return true;
}

// RFC 9112 section 2.2: some clients end a body with a line too many.
bool RequestParser::start(std::string_view data) {
  if (data.empty()) return false;
  if (data[0] != '\r') {
    state_ = State::kMethod;
    return true;
  }
  position_ = 1;
  state_ = State::kEmptyLine;
  return true;
}

bool RequestParser::take_empty_line(std::string_view data) {
  if (position_ == data.size()) return false;
  if (data[position_] != '\n') {
    return fail(400, "carriage return without line feed before the request");
  }
  begin_ = ++position_;
  state_ = State::kMethod;
  return true;
}

bool RequestParser::take_method(std::string_view data) {
  const char* const begin = data.data() + begin_;
  const char* const end = data.data() + data.size();
  const char* const limit = end - begin > kMaxMethodBytes ? begin + kMaxMethodBytes + 1 : end;
  const char* const at = skip_token(data.data() + position_, limit);
  position_ = static_cast<std::uint32_t>(at - data.data());
  method_ = {begin_, position_ - begin_};
  if (method_.size > kMaxMethodBytes) return fail(501, "method is longer than any known one");
  if (at == end) return false;
  if (*at != ' ') return fail(400, "request does not begin with a method and one blank");
  if (method_.size == 0) return fail(400, "request line without a method");
  target_ = {++position_, 0};
  state_ = State::kTarget;
  return true;
}

bool RequestParser::take_target(std::string_view data) {
  const char* const begin = data.data() + target_.begin;
  const char* const end = data.data() + data.size();
  const auto max = static_cast<std::ptrdiff_t>(limits_.max_target_bytes);
  const char* const limit = end - begin > max ? begin + max + 1 : end;
  const char* const at = skip_target(data.data() + position_, limit);
  position_ = static_cast<std::uint32_t>(at - data.data());
  target_.size = position_ - target_.begin;
  if (target_.size > limits_.max_target_bytes) return fail(414, "request target is too long");
  if (at == end) return false;
  if (*at != ' ') return fail_target_end(*at);
  if (target_.size == 0) return fail(400, "more than one blank before the request target");
  ++position_;
  state_ = State::kVersion;
  return true;
}

bool RequestParser::take_version(std::string_view data) {
  const std::string_view rest = data.substr(position_);
  const Version version = read_version(rest);
  if (version.fault == VersionFault::kUnsupported) {
    return fail(505, "only HTTP/1.1 and HTTP/1.0 are served here");
  }
  if (version.fault == VersionFault::kMalformed) {
    return fail(400, "request line must end in one blank and HTTP/1.1");
  }
  if (version.progress == Progress::kNeedMore || rest.size() == kVersionBytes) return false;
  if (rest[kVersionBytes] != '\r') {
    return fail(400, "request line must end in CR LF right after HTTP/1.1");
  }
  if (rest.size() == kVersionBytes + 1) return false;
  if (rest[kVersionBytes + 1] != '\n') {
    return fail(400, "carriage return without line feed after the request line");
  }
  head_.minor_version = version.minor;
  position_ += kVersionBytes + 2;
  state_ = State::kFields;
  return true;
}

bool RequestParser::take_fields(std::string_view data) {
  const Progress progress = fields_.parse(data, position_);
  if (progress == Progress::kComplete) return finish(data);
  if (progress == Progress::kError) {
    fail(fields_.error().status, fields_.error().message);
  }
  return false;
}

bool RequestParser::finish(std::string_view data) {
  base_ = data.data();
  head_.method = data.substr(method_.begin, method_.size);
  head_.target = data.substr(target_.begin, target_.size);
  head_.headers = fields_.headers(base_);
  if (!read_target_and_host()) return false;
  head_.body = {};
  if (head_.headers.has(HeaderId::kContentLength) ||
      head_.headers.has(HeaderId::kTransferEncoding)) {
    const auto body = read_framing(head_.headers, head_.minor_version, Body::Kind::kNone, error_);
    if (!body) return refuse();
    head_.body = *body;
  }
  if (!read_expect()) return false;
  read_connection();
  state_ = State::kComplete;
  return true;
}

bool RequestParser::read_target_and_host() {
  if (path_size_ != 0) {
    head_.form = TargetForm::kOrigin;
    head_.path = head_.target.substr(0, path_size_);
    head_.has_query = path_size_ < target_.size;
    head_.query = head_.has_query ? head_.target.substr(path_size_ + 1) : std::string_view{};
    return read_host({});
  }
  Target target;
  if (!read_target(head_.method, head_.target, target, error_)) return refuse();
  head_.form = target.form;
  head_.path = target.path;
  head_.query = target.query;
  head_.has_query = target.has_query;
  return read_host(target.authority);
}

bool RequestParser::read_host(std::string_view authority) {
  head_.host = authority;
  const Found host = head_.headers.find(HeaderId::kHost);
  if (!host) {
    return head_.minor_version == 0 || fail(400, "HTTP/1.1 request without a host header");
  }
  if (host.repeated()) return fail(400, "host stands twice; send it once");
  if (!is_valid_host(host.value)) {
    return fail(400, "host header is not a host and an optional port");
  }
  if (authority.empty()) head_.host = host.value;
  return true;
}

// RFC 9110 section 10.1.1; HTTP/1.0 knows no 100, and its Expect is not looked at.
bool RequestParser::read_expect() {
  head_.expect_continue = false;
  if (!head_.headers.has(HeaderId::kExpect) || head_.minor_version == 0) return true;
  const Found found = head_.headers.find(HeaderId::kExpect);
  if (found.repeated() || !equals_ignore_case(found.value, "100-continue")) {
    return fail(417, "only expect: 100-continue can be met");
  }
  head_.expect_continue = true;
  return true;
}

void RequestParser::read_connection() {
  if (!head_.headers.has(HeaderId::kConnection)) {
    head_.keep_alive = head_.minor_version == 1;
    head_.upgrade = false;
    return;
  }
  head_.keep_alive = keeps_alive(head_.headers, head_.minor_version);
  head_.upgrade = head_.minor_version == 1 && head_.headers.has(HeaderId::kUpgrade) &&
                  head_.headers.lists(HeaderId::kConnection, "upgrade");
}

void RequestParser::rebase(const char* base) {
  const auto move = [&](std::string_view& view) {
    if (view.data() != nullptr) view = {base + (view.data() - base_), view.size()};
  };
  move(head_.method);
  move(head_.target);
  if (!is_implied_path(head_.path)) move(head_.path);
  move(head_.query);
  move(head_.host);
  head_.headers = fields_.headers(base);
  base_ = base;
}

void RequestParser::reset() {
  state_ = State::kStart;
  position_ = 0;
  begin_ = 0;
  path_size_ = 0;
  fields_.reset();
}

bool RequestParser::fail(int status, std::string_view message) {
  error_ = {status, message};
  return refuse();
}

bool RequestParser::refuse() {
  state_ = State::kError;
  return false;
}

bool RequestParser::fail_target_end(char c) {
  if (c == '#') return fail(400, "fragment in the request target; leave it out");
  if (c == '\r' || c == '\n') return fail(400, "request line without an HTTP version");
  return fail(400, "byte that may not stand in a request target; percent-encode it");
}

}  // namespace weir::http1
