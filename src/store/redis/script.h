// The scripts of lua/, as the server knows them: by the SHA-1 of their text.
//
// THREADS: immutable; any.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::store::redis {

// As the server's sha1hex() writes it.
std::string sha1_hex(std::string_view text);

class Script {
 public:
  explicit Script(std::string_view text);

  std::string_view text() const { return text_; }
  std::string_view sha() const { return sha_; }

  // The head of a call with `arguments` arguments after the script: "EVALSHA <sha>", or "EVAL
  // <text>" for a server that does not know it yet. What follows is the same for both.
  void append_evalsha(std::string& out, std::size_t arguments) const;
  void append_eval(std::string& out, std::size_t arguments) const;

 private:
  std::string_view text_;
  std::string sha_;
};

const Script& bucket_script();     // lua/bucket.lua
const Script& charge_script();     // lua/charge.lua
const Script& correct_script();    // lua/correct.lua
const Script& heartbeat_script();  // lua/heartbeat.lua
const Script& ban_script();        // lua/ban.lua

}  // namespace weir::store::redis
