// Writers: start lines, headers and numbers appended to a string.
//
// What could end a header early (CR, LF, NUL, any other control byte) or is no token is refused and
// nothing is appended: text from outside can not add a header or a message.
//
// THREADS: pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http1 {

// The usual phrase, or one for the class of the status: never empty.
std::string_view reason_phrase(int status);

// "HTTP/1.1 429 Too Many Requests\r\n". REQUIRES: 100 <= status <= 999.
void append_status_line(std::string& out, int status);
// The same with an upstream's own reason, replaced by the usual phrase where it may not be written.
void append_status_line(std::string& out, int status, std::string_view reason);

// "GET /path HTTP/1.1\r\n"; false, and nothing appended, when a part may not stand there.
[[nodiscard]] bool append_request_line(std::string& out, std::string_view method,
                                       std::string_view target);

// "name: value\r\n"; false, and nothing appended, when a part may not stand there.
[[nodiscard]] bool append_header(std::string& out, std::string_view name, std::string_view value);
// For names written in our code and numbers: cannot fail.
void append_number_header(std::string& out, std::string_view name, std::uint64_t value);
// For fields that a parser of this folder has let pass: not looked at again.
void append_parsed_header(std::string& out, std::string_view name, std::string_view value);

inline void append_end_of_headers(std::string& out) {
  out.append("\r\n");
}

void append_number(std::string& out, std::uint64_t value);

}  // namespace weir::http1
