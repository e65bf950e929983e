// The command line, read into plain options. CLI11 stays behind this header.

#pragma once

#include <string>
#include <variant>
#include <vector>

namespace weir::app {

// Exit codes of the contract.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// `weir serve`: with a policy file, or with --upstream and --limit.
struct ServeOptions {
  std::string policy_file;  // or etcd://..., redis://...
  std::string last_good;    // file for a copy of a policy from there; empty: the usual place
  std::string upstream;
  std::vector<std::string> limits;
  std::string listen = "127.0.0.1:8080";
  std::string take_over;   // a unix socket: the listening sockets' way from one process to the next
  unsigned loops = 0;      // 0: as many as CPUs we may run on
  std::string test_clock;  // test builds only: a Unix socket that sets the program's clock
};

struct ValidateOptions {
  std::vector<std::string> files;
  std::string explain;  // a request to explain, or empty
};

struct DemoOptions {
  std::string listen = "127.0.0.1:3000";
};

// Whom the commands ask that look at a running weir, or change it.
struct AdminOptions {
  std::string url = "http://127.0.0.1:9090";
  std::string token;  // empty: WEIR_ADMIN_TOKEN, where it is set
  std::string ca;     // for https; empty: the system's authorities
  std::string cert;   // ours, where admin.tls.client_ca asks for one
  std::string key;
};

struct TopOptions {
  AdminOptions admin;
  unsigned every_ms = 1000;
  bool once = false;
  bool json = false;
};

struct KeysOptions {
  AdminOptions admin;
  bool denied = false;
  bool json = false;
};

struct SetOptions {
  AdminOptions admin;
  std::string limit;                // empty: the policy as a whole
  std::vector<std::string> key;     // of the limit; empty: the limit itself
  std::vector<std::string> fields;  // "rate=5/s"
  std::string lasts;                // "1h"; empty: until it is changed again
  bool remove = false;
};

struct GetOptions {
  AdminOptions admin;
  std::string limit;  // empty: what has been changed
  std::vector<std::string> key;
};

struct ResetOptions {
  AdminOptions admin;
  std::string limit;
  std::vector<std::string> key;
};

struct BanOptions {
  AdminOptions admin;
  std::vector<std::string> match;  // "ip=203.0.113.7"
  std::string lasts;
  bool remove = false;
};

// Nothing left to do: --help, --version, or a mistake. `text` goes to standard output when the
// code is 0, else to standard error.
struct Finished {
  int exit_code = kExitOk;
  std::string text;
};

using Command = std::variant<Finished, ServeOptions, ValidateOptions, DemoOptions, TopOptions,
                             KeysOptions, SetOptions, GetOptions, ResetOptions, BanOptions>;

Command parse_command_line(int argc, const char* const* argv);

}  // namespace weir::app
