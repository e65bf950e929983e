#include "wire/resp/writer.h"

#include <array>
#include <cstring>

#include "base/decimal.h"

namespace weir::resp {
namespace {

constexpr std::size_t kMaxLine = kMaxDecimalDigits + 3;  // a sign makes it one digit less

char* write_number(char* at, std::int64_t number) {
  if (number >= 0) return write_decimal(at, static_cast<std::uint64_t>(number));
  *at = '-';
  return write_decimal(at + 1, 0 - static_cast<std::uint64_t>(number));
}

// type, number, CR LF; returns the end. REQUIRES: kMaxLine bytes at `at`.
char* write_line(char* at, char type, std::int64_t number) {
  if (number >= 0 && number < 10) {  // in one move
    const char line[] = {type, static_cast<char>('0' + number), '\r', '\n'};
    std::memcpy(at, line, sizeof line);
    return at + sizeof line;
  }
  *at = type;
  at = write_number(at + 1, number);
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

void append_line(std::string& out, char type, std::int64_t number) {
  std::array<char, kMaxLine> line;
  const char* end = write_line(line.data(), type, number);
  out.append(line.data(), static_cast<std::size_t>(end - line.data()));
}

void append_length(std::string& out, char type, std::size_t length) {
  append_line(out, type, static_cast<std::int64_t>(length));
}

}  // namespace

void append_command(std::string& out, std::span<const std::string_view> arguments) {
  append_command_header(out, arguments.size());
  for (std::string_view argument : arguments) append_bulk(out, argument);
}

void append_command(std::string& out, std::initializer_list<std::string_view> arguments) {
  append_command(out, std::span<const std::string_view>(arguments.begin(), arguments.size()));
}

void append_command_header(std::string& out, std::size_t count) {
  append_length(out, '*', count);
}

void append_argument(std::string& out, std::string_view bytes) {
  append_bulk(out, bytes);
}

void append_argument(std::string& out, std::int64_t number) {
  std::array<char, kMaxDecimalDigits> digits;
  const char* const end = write_number(digits.data(), number);
  append_bulk(out, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void append_simple(std::string& out, std::string_view text) {
  out += '+';
  out += text;
  out += "\r\n";
}

void append_error(std::string& out, std::string_view text) {
  out += '-';
  for (char c : text) out += c == '\r' || c == '\n' ? ' ' : c;
  out += "\r\n";
}

void append_integer(std::string& out, std::int64_t value) {
  append_line(out, ':', value);
}

void append_integers(std::string& out, std::span<const std::int64_t> values) {
  constexpr std::size_t kAtOnce = 8;
  std::array<char, kMaxLine*(kAtOnce + 1)> lines;
  char* end = write_line(lines.data(), '*', static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % kAtOnce == 0 && i > 0) {
      out.append(lines.data(), static_cast<std::size_t>(end - lines.data()));
      end = lines.data();
    }
    end = write_line(end, ':', values[i]);
  }
  out.append(lines.data(), static_cast<std::size_t>(end - lines.data()));
}

void append_bulk(std::string& out, std::string_view bytes) {
  append_length(out, '$', bytes.size());
  out += bytes;
  out += "\r\n";
}

void append_null(std::string& out, Version version) {
  out += version == Version::kResp3 ? "_\r\n" : "$-1\r\n";
}

void append_array_header(std::string& out, std::size_t values) {
  append_length(out, '*', values);
}

void append_map_header(std::string& out, std::size_t pairs, Version version) {
  if (version == Version::kResp3) return append_length(out, '%', pairs);
  append_length(out, '*', pairs * 2);
}

}  // namespace weir::resp
