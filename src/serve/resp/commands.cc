// The table of commands, and those that clients send when they connect.

#include "serve/resp/commands.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "engine/compiled_policy.h"
#include "wire/resp/writer.h"

namespace weir::resp {
namespace {

constexpr std::size_t kAny = 1024;

constexpr std::array<char, 256> kLower = [] {
  std::array<char, 256> lower{};
  for (int c = 0; c < 256; ++c) lower[c] = static_cast<char>(c);
  for (char c = 'A'; c <= 'Z'; ++c) lower[c] = static_cast<char>(c - 'A' + 'a');
  return lower;
}();

std::uint64_t load_eight(const char* at) {
  std::uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

// Eight bytes at once, each upper-case letter among them made lower case. Such a letter is told by
// two sums: one carries into its byte's high bit from 'A' on, the other beyond 'Z'.
std::uint64_t lower_eight(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t ascii = bytes & (kOnes * 0x7f);
  const std::uint64_t from_a = ascii + kOnes * (0x80 - 'A');
  const std::uint64_t past_z = ascii + kOnes * (0x7f - 'Z');
  const std::uint64_t upper = (from_a ^ past_z) & ~bytes & (kOnes * 0x80);
  return bytes | upper >> 2;
}

// Whether `text` is `lower` in any case. REQUIRES: `lower` has no upper case.
bool is_word(std::string_view text, std::string_view lower) {
  const std::size_t size = lower.size();
  if (text.size() == size && size >= 8 && size <= 16) {  // two words, which may overlap
    return lower_eight(load_eight(text.data())) == load_eight(lower.data()) &&
           lower_eight(load_eight(text.data() + size - 8)) == load_eight(lower.data() + size - 8);
  }
  return text.size() == size &&
         std::equal(text.begin(), text.end(), lower.begin(),
                    [](char a, char b) { return kLower[static_cast<unsigned char>(a)] == b; });
}

// Bytes of a client, fit for an error line.
std::string printable(std::string_view text) {
  std::string out(text.substr(0, 64));
  for (char& c : out) {
    if (c < 0x20 || c >= 0x7F) c = '?';
  }
  return out;
}

}  // namespace

struct Row {
  std::string_view name;  // lower case
  std::size_t least;      // arguments, the name included
  std::size_t most;
  void (Commands::*run)(Arguments, Client&) const;
  bool before_login = false;
};

struct Table {
  static constexpr std::array kRows{
      Row{"cl.throttle", 5, 6, &Commands::cl_throttle},
      Row{"weir.check", 2, kAny, &Commands::check},
      Row{"weir.take", 3, kAny, &Commands::take},
      Row{"throttle", 5, 6, &Commands::throttle},
      Row{"ping", 1, 2, &Commands::ping},
      Row{"echo", 2, 2, &Commands::echo},
      Row{"hello", 1, 7, &Commands::hello, true},
      Row{"auth", 2, 3, &Commands::auth, true},
      Row{"select", 2, 2, &Commands::select},
      Row{"info", 1, kAny, &Commands::info},
      Row{"command", 1, kAny, &Commands::command},
      Row{"client", 2, kAny, &Commands::client},
      Row{"config", 2, kAny, &Commands::config},
      Row{"reset", 1, 1, &Commands::reset, true},
      Row{"quit", 1, kAny, &Commands::quit, true},
  };

  static const Row* find(std::string_view name) {
    for (const Row& row : kRows) {
      if (is_word(name, row.name)) return &row;
    }
    return nullptr;
  }
};

Commands::Commands(Services services)
    : services_(services),
      requests_(services.registry, "resp"),
      timer_(services.registry, "resp", services.clock) {}

void Commands::run(Arguments arguments, Client& to) const {
  const Row* row = Table::find(arguments[0]);
  if (row == nullptr) {
    return refuse(to, "unknown command '" + printable(arguments[0]) +
                          "'; there are CL.THROTTLE, THROTTLE, WEIR.CHECK and WEIR.TAKE");
  }
  if (!row->before_login && !to.authenticated) {
    if (!password().empty()) {
      requests_.error.add();
      return append_error(to.replies.now(), "NOAUTH Authentication required: send AUTH password");
    }
    to.authenticated = true;  // WHY kept: a password that is set later asks new connections only
  }
  if (arguments.size() < row->least || arguments.size() > row->most) {
    return refuse(to, "wrong number of arguments for '" + std::string(row->name) + "' command");
  }
  (this->*row->run)(arguments, to);
}

void Commands::refuse(Client& to, std::string_view message) const {
  requests_.error.add();
  append_error(to.replies.now(), "ERR " + std::string(message));
}

std::string Commands::password() const {
  const auto policy = services_.engine.current();
  const auto& section = policy->policy().resp;
  return section ? section->password : "";
}

// Compares in constant time; the length may leak.
bool Commands::log_in(std::string_view shown, Client& to) const {
  const std::string wanted = password();
  if (!wanted.empty()) {
    to.authenticated = shown.size() == wanted.size() &&
                       CRYPTO_memcmp(shown.data(), wanted.data(), wanted.size()) == 0;
  }
  return wanted.empty() || to.authenticated;
}

void Commands::ping(Arguments arguments, Client& to) const {
  if (arguments.size() == 2) return append_bulk(to.replies.now(), arguments[1]);
  append_simple(to.replies.now(), "PONG");
}

void Commands::echo(Arguments arguments, Client& to) const {
  append_bulk(to.replies.now(), arguments[1]);
}

// HELLO [2|3 [AUTH user password] [SETNAME name]]
void Commands::hello(Arguments arguments, Client& to) const {
  std::string& out = to.replies.now();
  Version version = to.version;
  if (arguments.size() > 1) {
    if (arguments[1] != "2" && arguments[1] != "3") {
      return append_error(out, "NOPROTO unsupported protocol version: there are 2 and 3");
    }
    version = arguments[1] == "2" ? Version::kResp2 : Version::kResp3;
  }
  for (std::size_t i = 2; i < arguments.size();) {
    if (is_word(arguments[i], "auth") && i + 2 < arguments.size()) {
      if (!log_in(arguments[i + 2], to)) {
        return append_error(out, "WRONGPASS the password is not right");
      }
      i += 3;
    } else if (is_word(arguments[i], "setname") && i + 1 < arguments.size()) {
      to.name = arguments[i + 1].substr(0, 256);
      i += 2;
    } else {
      return refuse(to, "HELLO takes 2 or 3, AUTH user password, SETNAME name");
    }
  }
  if (!to.authenticated && !password().empty()) {
    return append_error(out, "NOAUTH Authentication required: HELLO 3 AUTH default password");
  }
  to.version = version;
  append_map_header(out, 7, version);
  const auto pair = [&](std::string_view key, std::string_view value) {
    append_bulk(out, key);
    append_bulk(out, value);
  };
  pair("server", "weir");
  pair("version", "7.0.0");
  append_bulk(out, "proto");
  append_integer(out, static_cast<int>(version));
  append_bulk(out, "id");
  append_integer(out, static_cast<std::int64_t>(to.id));
  pair("mode", "standalone");
  pair("role", "master");
  append_bulk(out, "modules");
  append_array_header(out, 0);
}

void Commands::auth(Arguments arguments, Client& to) const {
  std::string& out = to.replies.now();
  if (password().empty()) {
    return refuse(to,
                  "AUTH was called, and no password is set: set resp.password, or leave it out");
  }
  if (!log_in(arguments.back(), to)) {
    return append_error(out, "WRONGPASS the password is not right");
  }
  append_simple(out, "OK");
}

void Commands::select(Arguments arguments, Client& to) const {
  unsigned database = 0;
  const std::string_view text = arguments[1];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), database);
  const bool right = error == std::errc{} && end == text.data() + text.size() && database < 16;
  // There is one set of counters, whatever the number: clients send it from their URL.
  right ? append_simple(to.replies.now(), "OK") : refuse(to, "DB index must be 0 to 15");
}

// What clients look for before they believe a server is ready.
void Commands::info(Arguments, Client& to) const {
  append_bulk(to.replies.now(),
              "# Server\r\nserver_name:weir\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n"
              "# Persistence\r\nloading:0\r\n# Replication\r\nrole:master\r\n"
              "connected_slaves:0\r\n# Cluster\r\ncluster_enabled:0\r\n");
}

// Clients ask for tables of commands to learn where keys stand; none of ours needs that.
void Commands::command(Arguments arguments, Client& to) const {
  std::string& out = to.replies.now();
  if (arguments.size() > 1 && is_word(arguments[1], "count")) {
    return append_integer(out, static_cast<std::int64_t>(Table::kRows.size()));
  }
  if (arguments.size() > 1 && is_word(arguments[1], "docs")) {
    return append_map_header(out, 0, to.version);
  }
  append_array_header(out, 0);
}

void Commands::client(Arguments arguments, Client& to) const {
  std::string& out = to.replies.now();
  const std::string_view what = arguments[1];
  if (is_word(what, "id")) return append_integer(out, static_cast<std::int64_t>(to.id));
  if (is_word(what, "getname")) {
    return to.name.empty() ? append_null(out, to.version) : append_bulk(out, to.name);
  }
  if (is_word(what, "setname")) {
    if (arguments.size() != 3) return refuse(to, "CLIENT SETNAME takes one name");
    to.name = arguments[2].substr(0, 256);
    return append_simple(out, "OK");
  }
  for (const std::string_view word : {"setinfo", "no-evict", "no-touch"}) {
    if (is_word(what, word)) return append_simple(out, "OK");
  }
  if (is_word(what, "info") || is_word(what, "list")) {
    return append_bulk(out, "id=" + std::to_string(to.id) + " name=" + printable(to.name) +
                                " resp=" + std::to_string(static_cast<int>(to.version)) + "\n");
  }
  refuse(to, "CLIENT knows ID, INFO, GETNAME, SETNAME and SETINFO here");
}

// CONFIG GET name: benchmarks ask for `save` and `appendonly`; nothing here is kept in a file.
void Commands::config(Arguments arguments, Client& to) const {
  std::string& out = to.replies.now();
  if (!is_word(arguments[1], "get") || arguments.size() < 3) {
    return refuse(to, "CONFIG knows GET here; weir is configured by its policy");
  }
  append_map_header(out, arguments.size() - 2, to.version);
  for (const std::string_view name : arguments.subspan(2)) {
    append_bulk(out, name);
    append_bulk(out, is_word(name, "appendonly") ? "no" : "");
  }
}

void Commands::reset(Arguments, Client& to) const {
  to.version = Version::kResp2;
  to.authenticated = false;
  to.name.clear();
  append_simple(to.replies.now(), "RESET");
}

void Commands::quit(Arguments, Client& to) const {
  append_simple(to.replies.now(), "OK");
  to.quitting = true;
}

}  // namespace weir::resp
