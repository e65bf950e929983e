// CommandParser: the server's side. Cuts commands out of what a client sent, without copying.
//
//   command = "*" count CRLF count x ( "$" length CRLF bytes CRLF )
//           / words LF                     typed by a person: quotes as in redis-cli
//
// The caller keeps the bytes: each call of parse() sees the same command from its first byte, with
// more behind it, and the parser goes on where it stopped, so that slow senders cost nothing extra.
// Bounded in arguments and bytes; a length that breaks a bound is refused when it is read, before
// any of its bytes came. Bytes of arguments are bytes: NUL, CR LF and all.
//
// What is no RESP client is told apart at once: a TLS hello, and HTTP (a browser that was talked
// into posting to this port must not have one line of its request run).
//
// THREADS: one parser, one thread. Allocates only beyond 16 arguments, and for quoted words.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/resp/parse.h"

namespace weir::resp {

struct CommandLimits {
  std::uint32_t max_arguments = 1024;
  std::uint32_t max_argument_bytes = 1 << 20;
  std::uint32_t max_command_bytes = 4 << 20;  // all of it; what a connection must be able to buffer
  std::uint32_t max_inline_bytes = 64 << 10;
};

class CommandParser {
 public:
  explicit CommandParser(CommandLimits limits = {});

  // kComplete: take consumed() bytes off the front, and go on with the next command. A command
  // without arguments ("*0", "*-1", an empty line) is complete and to be ignored.
  Progress parse(std::string_view data);

  // After kComplete, until the bytes move or parse() is called.
  std::span<const std::string_view> arguments() const { return arguments_; }
  std::size_t consumed() const { return position_; }

  // After kError: what was wrong, static text, lower case; "-ERR Protocol error: " goes before it.
  std::string_view error() const { return error_; }

 private:
  struct Range {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  enum class State : std::uint8_t { kStart, kCount, kLength, kBytes, kInline, kComplete, kError };

  void start();
  bool take_whole(std::string_view data);
  bool step(std::string_view data);
  bool take_count(std::string_view data);
  bool take_length(std::string_view data);
  bool take_bytes(std::string_view data);
  bool take_inline(std::string_view data);
  bool take_number(std::string_view data, std::string_view& digits);
  bool split_words(std::string_view line);
  bool unquote(std::string_view line, std::size_t& i);
  void complete(std::string_view data);
  bool fail(std::string_view message);

  CommandLimits limits_;
  State state_ = State::kStart;
  std::uint32_t remaining_ = 0;  // arguments still to come
  std::uint32_t length_ = 0;     // of the argument being read
  std::size_t position_ = 0;     // everything before it has been read
  std::vector<Range> ranges_;    // into the command's bytes; inline: into words_
  std::vector<std::string_view> arguments_;
  std::string words_;  // of an inline command, unquoted
  std::string_view error_;
};

}  // namespace weir::resp
