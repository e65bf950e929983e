#include "engine/check_json.h"

#include <cstddef>

#include "base/text_cursor.h"
#include "engine/shown_numbers.h"

namespace weir::engine {
namespace {

// The most that one object has: a name, six numbers, two words, and the names of a dozen members.
constexpr std::size_t kMaxObject = 512;
constexpr std::size_t kShortId = 256;  // most are

// Of a refusal that no limit made: blocked, banned, or more counters than can be asked at once.
TextCursor write_wait_alone(TextCursor out, const Decision& decision) {
  out += ",\"quota\":null,\"remaining\":null,\"retry_after\":";
  if (decision.ban_left > Duration{0}) {
    out.add_seconds(decision.ban_left);
  } else {
    out += "null";
  }
  out += ",\"reset_after\":0";
  return out;
}

// `,"quota":5,"remaining":0,"retry_after":9.4,"reset_after":49.4`
TextCursor write_verdict(TextCursor out, const LimitDecision& one) {
  const Verdict& verdict = one.verdict;
  const bool numbers = has_numbers(one);
  out += ",\"quota\":";
  has_quota(one) ? out.add_number(verdict.quota) : void(out += "null");
  out += ",\"remaining\":";
  numbers ? out.add_number(verdict.remaining) : void(out += "null");
  out += ",\"retry_after\":";
  if (!verdict.allowed() && !has_wait(verdict)) {
    out += "null";
  } else {
    out.add_seconds(numbers ? verdict.retry_after : Duration{0});
  }
  if (!verdict.allowed() && !verdict.retry_known) {
    out += ",\"retry_at_most\":";
    out.add_seconds(numbers ? verdict.retry_after : Duration{0});
  }
  out += ",\"reset_after\":";
  out.add_seconds(numbers ? verdict.reset_after : Duration{0});
  return out;
}

// What limits and decisions end in alike: `,"delay":0,"source":"memory","reason":""`.
TextCursor write_origin(TextCursor out, Duration delay, Source source, Reason reason) {
  out += ",\"delay\":";
  out.add_seconds(delay);
  out += ",\"source\":\"";
  out += to_string(source);
  out += "\",\"reason\":\"";
  out += to_string(reason);
  out += '"';
  return out;
}

TextCursor write_allowed(TextCursor out, bool allowed) {
  out += "{\"allowed\":";
  out += allowed ? std::string_view("true") : std::string_view("false");
  out += ",\"limit\":";
  return out;
}

TextCursor write_name(TextCursor out, std::string_view name) {
  out += '"';
  append_name(out, name);
  out += '"';
  return out;
}

// Without the closing brace.
TextCursor write_decision(TextCursor out, const Decision& decision) {
  const LimitDecision* const named = decision.named_limit();
  out = write_allowed(out, decision.allowed);
  if (named != nullptr) {
    out = write_verdict(write_name(out, named->name), *named);
  } else if (decision.allowed) {
    out += "null,\"quota\":null,\"remaining\":null,\"retry_after\":0,\"reset_after\":0";
  } else {
    out += "null";
    out = write_wait_alone(out, decision);
  }
  return write_origin(out, decision.delay, decision.source, decision.reason);
}

TextCursor write_limit(TextCursor out, const LimitDecision& one) {
  out = write_verdict(write_name(write_allowed(out, one.verdict.allowed()), one.name), one);
  out = write_origin(out, one.verdict.delay, one.source, one.reason);
  if (one.shadow) out += ",\"shadow\":true";
  return out;
}

// Whether the limit that a decision names says to the byte what the decision says.
bool says_the_same(const Decision& decision) {
  const LimitDecision& named = *decision.named_limit();
  return decision.allowed == named.verdict.allowed() && decision.delay == named.verdict.delay &&
         decision.source == named.source && decision.reason == named.reason;
}

}  // namespace

void append_exact_seconds(std::string& out, Duration duration) {
  char text[TextCursor::kMaxSeconds + TextCursor::kRoomBehind];
  TextCursor to(text);
  to.add_seconds(duration);
  out += to.since(text);
}

// WHY by way of `text`: a string looks at its room for every piece; most answers fit in as a whole.
void append_check_json(const Decision& decision, std::string_view id, std::string& out) {
  char text[3 * kMaxObject + kShortId];
  const TextCursor behind_head = write_decision(TextCursor(text), decision);
  const std::string_view head = behind_head.since(text);
  TextCursor to = behind_head;
  const char* unsent = text;
  // Sends what is there, and leaves the head where it is.
  const auto send = [&] {
    out += to.since(unsent);
    to = behind_head;
    unsent = to.at();
  };
  to += ",\"id\":\"";
  if (id.size() <= kShortId) {
    to += id;
  } else {
    send();
    out += id;
  }
  to += "\",\"limits\":[";
  for (std::size_t i = 0; i < decision.limits.size(); ++i) {
    if (text + sizeof text - to.at() < std::ptrdiff_t{2 * kMaxObject}) send();
    if (i > 0) to += ',';
    const bool same = static_cast<int>(i) == decision.named && says_the_same(decision);
    if (same) {
      to += head;
    } else {
      to = write_limit(to, decision.limits[i]);
    }
    to += '}';
  }
  to += "]}";
  send();
}

}  // namespace weir::engine
