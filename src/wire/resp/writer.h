// RESP as bytes: commands for clients, replies for servers. Appends to a caller's string.
//
// THREADS: plain functions.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace weir::resp {

// "*3\r\n$3\r\nSET..."
void append_command(std::string& out, std::span<const std::string_view> arguments);
void append_command(std::string& out, std::initializer_list<std::string_view> arguments);

// The pieces, for commands that are put together: a header of `count`, then that many arguments.
void append_command_header(std::string& out, std::size_t count);
void append_argument(std::string& out, std::string_view bytes);
void append_argument(std::string& out, std::int64_t number);  // in decimal digits

// Which version of the protocol a client speaks (HELLO). They differ in nulls, maps and booleans.
enum class Version : std::uint8_t { kResp2 = 2, kResp3 = 3 };

void append_simple(std::string& out, std::string_view text);  // REQUIRES: no CR, no LF
// `text` begins with its code word: "ERR unknown command". CR and LF become spaces.
void append_error(std::string& out, std::string_view text);
void append_integer(std::string& out, std::int64_t value);
void append_integers(std::string& out, std::span<const std::int64_t> values);  // an array of them
void append_bulk(std::string& out, std::string_view bytes);
void append_null(std::string& out, Version version);
void append_array_header(std::string& out, std::size_t values);
void append_map_header(std::string& out, std::size_t pairs, Version version);

}  // namespace weir::resp
