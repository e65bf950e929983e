#include "wire/http1/writer.h"

#include "base/check.h"
#include "base/fixed_text.h"
#include "wire/http1/characters.h"
#include "wire/http1/scan.h"

namespace weir::http1 {

namespace {

struct Reason {
  int status;
  std::string_view phrase;
};

constexpr Reason kReasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

constexpr std::size_t kShortLine = 256;  // most are

std::string_view phrase_of_class(int status) {
  switch (status / 100) {
    case 1:
      return "Informational";
    case 2:
      return "Success";
    case 3:
      return "Redirection";
    case 4:
      return "Client Error";
    default:
      return "Server Error";
  }
}

bool is_token(std::string_view text) {
  return !text.empty() && all_are(text, kTokenChar);
}

bool is_field_value(std::string_view text) {
  const char* const end = text.data() + text.size();
  return skip_field_value(text.data(), end) == end;
}

void append_line(std::string& out, std::string_view name, std::string_view value) {
  const std::size_t size = name.size() + value.size() + 4;
  if (size <= kShortLine) {
    FixedText<kShortLine> line;
    line += name;
    line += ": ";
    line += value;
    line += "\r\n";
    out += line.view();
    return;
  }
  out.append(name);
  out.append(": ");
  out.append(value);
  out.append("\r\n");
}

}  // namespace

std::string_view reason_phrase(int status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.phrase;
  }
  return phrase_of_class(status);
}

void append_status_line(std::string& out, int status) {
  WEIR_CHECK(status >= 100 && status <= 999, "a status has three digits");
  FixedText<64> line;
  line += "HTTP/1.1 ";
  line.add_number(static_cast<std::uint64_t>(status));
  line += ' ';
  line += reason_phrase(status);
  line += "\r\n";
  out += line.view();
}

void append_status_line(std::string& out, int status, std::string_view reason) {
  if (!is_field_value(reason)) return append_status_line(out, status);
  WEIR_CHECK(status >= 100 && status <= 999, "a status has three digits");
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(status));
  out.push_back(' ');
  out.append(reason);
  out.append("\r\n");
}

bool append_request_line(std::string& out, std::string_view method, std::string_view target) {
  if (!is_token(method) || target.empty() || !all_are(target, kTargetChar)) return false;
  out.append(method);
  out.push_back(' ');
  out.append(target);
  out.append(" HTTP/1.1\r\n");
  return true;
}

bool append_header(std::string& out, std::string_view name, std::string_view value) {
  if (!is_token(name) || !is_field_value(value)) return false;
  append_line(out, name, value);
  return true;
}

void append_number_header(std::string& out, std::string_view name, std::uint64_t value) {
  FixedText<96> line;
  line += name;
  line += ": ";
  line.add_number(value);
  line += "\r\n";
  out += line.view();
}

void append_parsed_header(std::string& out, std::string_view name, std::string_view value) {
  append_line(out, name, value);
}

void append_number(std::string& out, std::uint64_t value) {
  FixedText<20> digits;
  digits.add_number(value);
  out += digits.view();
}

}  // namespace weir::http1
