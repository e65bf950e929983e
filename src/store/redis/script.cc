#include "store/redis/script.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"
#include "base/hex.h"
#include "redis_scripts.h"
#include "wire/resp/writer.h"

namespace weir::store::redis {

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  const int done = EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  WEIR_CHECK(done == 1, "Redis speaks of texts by their SHA-1, so OpenSSL must have it");
  std::string hex;
  append_hex(hex, std::span(digest.data(), size));
  return hex;
}

Script::Script(std::string_view text) : text_(text), sha_(sha1_hex(text)) {}

void Script::append_evalsha(std::string& out, std::size_t arguments) const {
  resp::append_command_header(out, arguments + 2);
  resp::append_bulk(out, "EVALSHA");
  resp::append_bulk(out, sha_);
}

void Script::append_eval(std::string& out, std::size_t arguments) const {
  resp::append_command_header(out, arguments + 2);
  resp::append_bulk(out, "EVAL");
  resp::append_bulk(out, text_);
}

const Script& bucket_script() {
  static const Script script(kBucketText);
  return script;
}

const Script& charge_script() {
  static const Script script(kChargeText);
  return script;
}

const Script& correct_script() {
  static const Script script(kCorrectText);
  return script;
}

const Script& heartbeat_script() {
  static const Script script(kHeartbeatText);
  return script;
}

const Script& ban_script() {
  static const Script script(kBanText);
  return script;
}

}  // namespace weir::store::redis
