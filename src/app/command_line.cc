#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "app/command_text.h"
#include "app/version.h"
#include "policy/words.h"

namespace weir::app {
namespace {

constexpr const char* kAbout = "weir: a rate limiter as a gateway, a check API and a library";

// Help as the contract's table of commands, one command a paragraph; CLI11's own layout per option.
constexpr const char* kFooter = R"(
examples:
  weir serve -c weir.yaml
  weir serve --upstream http://127.0.0.1:3000 --limit '10/s burst 20 by ip'
  weir validate weir.yaml
  weir validate weir.yaml --explain 'POST /login from 203.0.113.7 user=42'
  weir top --url http://127.0.0.1:9090
  weir set login --key 203.0.113.7 burst=50 --for 1h
  weir ban ip=203.0.113.0/24 --for 1d

exit codes: 0 right, 1 failed while running, 2 wrong usage or policy)";

void add_serve(CLI::App& app, ServeOptions& options) {
  CLI::App* serve = app.add_subcommand("serve", "run the listeners that a policy names");
  auto* file =
      serve
          ->add_option("-c,--config", options.policy_file,
                       "the policy file, or where it is kept: etcd://HOST/KEY, redis://HOST/KEY")
          ->type_name("FILE");
  serve
      ->add_option(
          "--last-good", options.last_good,
          "the file for a copy of a policy from etcd or Redis, to start from while they are "
          "away; default: below $STATE_DIRECTORY or ~/.cache/weir")
      ->type_name("FILE")
      ->needs(file);
  auto* upstream =
      serve->add_option("--upstream", options.upstream, "without a file: the service to guard")
          ->type_name("URL")
          ->excludes(file);
  serve
      ->add_option("--limit", options.limits,
                   "without a file: RATE [burst N] [by KEY[,KEY]] [on [METHOD] PATH]; repeatable")
      ->type_name("'LIMIT'")
      ->allow_extra_args(false)
      ->needs(upstream);
  serve->add_option("--listen", options.listen, "without a file: where to listen")
      ->type_name("ADDR")
      ->capture_default_str()
      ->needs(upstream);
  serve->add_option("--loops", options.loops, "event loops; default: the CPUs we may run on")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  serve
      ->add_option("--take-over", options.take_over,
                   "take the listening sockets over from the weir that serves now, through this "
                   "unix socket, and hand them to the next")
      ->type_name("SOCKET");
#ifdef WEIR_TEST_HOOKS
  serve->add_option("--test-clock", options.test_clock, "test builds: a socket that sets the clock")
      ->type_name("SOCKET");
#endif
}

void add_validate(CLI::App& app, ValidateOptions& options) {
  CLI::App* validate = app.add_subcommand("validate", "check policies and say every mistake");
  validate->add_option("FILE", options.files, "policy files")->required();
  validate
      ->add_option("--explain", options.explain,
                   "which limits a request meets, by which key and numbers, and why not others: "
                   "'POST /login from 203.0.113.7 user=42'")
      ->type_name("REQUEST")
      ->check([](const std::string& request) {
        const bool blank = request.find_first_not_of(' ') == std::string::npos;
        return std::string(blank ? "wants a request such as 'POST /login from 203.0.113.7'" : "");
      });
}

void add_admin(CLI::App& command, AdminOptions& options) {
  command.add_option("--url", options.url, "the policy's admin.listen")
      ->type_name("URL")
      ->capture_default_str();
  command.add_option("--token", options.token, "admin.token; default: WEIR_ADMIN_TOKEN")
      ->type_name("TOKEN");
  command
      .add_option(
          "--ca", options.ca,
          "of an https --url: whom its certificate must be signed by; default: the system's "
          "authorities")
      ->type_name("FILE");
  command
      .add_option("--client-cert", options.cert,
                  "our certificate, where admin.tls.client_ca wants one")
      ->type_name("FILE");
  command.add_option("--client-key", options.key, "its key")->type_name("FILE");
}

void add_top(CLI::App& app, TopOptions& options) {
  CLI::App* top = app.add_subcommand("top", "a live table of what a running weir decides");
  add_admin(*top, options.admin);
  top->add_option("--every", options.every_ms, "milliseconds between two looks")
      ->type_name("MS")
      ->check(CLI::Range(200, 60000))
      ->capture_default_str();
  top->add_flag("--once", options.once, "print it once, as where there is no terminal");
  top->add_flag("--json", options.json, "print all that is told once, as JSON");
}

void add_keys(CLI::App& app, KeysOptions& options) {
  CLI::App* keys = app.add_subcommand("keys", "the keys that a running weir refuses most");
  add_admin(*keys, options.admin);
  keys->add_flag("--denied", options.denied, "those refused most, of the last minute first")
      ->required();
  keys->add_flag("--json", options.json, "as JSON");
}

void add_set(CLI::App& app, SetOptions& options) {
  CLI::App* set =
      app.add_subcommand("set", "change a limit, or one key of it, while it is in force");
  set->add_option("LIMIT", options.limit, "the limit's name; '' for the policy as a whole")
      ->required();
  set->add_option("FIELDS", options.fields,
                  "what to set: rate=5/s burst=50, mode=shadow; of a key also unlimited=true, "
                  "tier=NAME")
      ->type_name("NAME=VALUE");
  set->add_option("--key", options.key, "the key's values, each with a --key of its own")
      ->type_name("VALUE")
      ->allow_extra_args(false);
  set->add_option("--for", options.lasts,
                  "for how long, such as 1h; else until it is changed again")
      ->type_name("DURATION");
  set->add_flag("--remove", options.remove, "take the change back");
  add_admin(*set, options.admin);
}

void add_looks(CLI::App& app, GetOptions& get_options, ResetOptions& reset_options) {
  CLI::App* get =
      app.add_subcommand("get", "what one key has left; without a limit, what was changed");
  get->add_option("LIMIT", get_options.limit, "the limit's name");
  get->add_option("KEY", get_options.key, "the key's values");
  add_admin(*get, get_options.admin);
  CLI::App* reset = app.add_subcommand("reset", "make one key fresh again");
  reset->add_option("LIMIT", reset_options.limit, "the limit's name")->required();
  reset->add_option("KEY", reset_options.key, "the key's values");
  add_admin(*reset, reset_options.admin);
}

void add_ban(CLI::App& app, BanOptions& options) {
  CLI::App* ban =
      app.add_subcommand("ban", "refuse clients, for a while or until it is taken back");
  ban->add_option("MATCH", options.match, "who: ip=203.0.113.0/24, user=42, header.x-id=7")
      ->type_name("NAME=VALUE")
      ->required();
  ban->add_option("--for", options.lasts, "for how long, such as 1h")->type_name("DURATION");
  ban->add_flag("--remove", options.remove, "take the ban back");
  add_admin(*ban, options.admin);
}

struct AllOptions {
  ServeOptions serve;
  ValidateOptions validate;
  DemoOptions demo;
  TopOptions top;
  KeysOptions keys;
  SetOptions set;
  GetOptions get;
  ResetOptions reset;
  BanOptions ban;
};

void add_commands(CLI::App& app, AllOptions& options) {
  add_serve(app, options.serve);
  add_validate(app, options.validate);
  add_set(app, options.set);
  add_looks(app, options.get, options.reset);
  add_ban(app, options.ban);
  app.add_subcommand("demo", "a tiny HTTP and WebSocket echo service to try things on")
      ->add_option("--listen", options.demo.listen, "where to listen")
      ->type_name("ADDR")
      ->capture_default_str();
  add_top(app, options.top);
  add_keys(app, options.keys);
  app.set_version_flag("--version", version_line());
  app.require_subcommand(1);
  app.footer(kFooter);
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  const bool flag = option.get_items_expected_max() == 0;
  // "N:INT in [1 - 1024]" and "'LIMIT'" are how --help shows them.
  std::string type = option.get_type_name();
  type = type.substr(0, type.find(':'));
  std::erase(type, '\'');
  // A positional whose value has no kind of its own is told by its name.
  if (!flag) text.value = type == "TEXT" ? option.get_single_name() : type;
  text.about = option.get_description();
  text.default_value = option.get_default_str();
  text.required = option.get_required();
  text.repeatable = option.get_items_expected_max() > 1;
  return text;
}

CommandText text_of(const CLI::App& app) {
  CommandText text{app.get_name(), app.get_description(), {}};
  for (const CLI::Option* option : app.get_options()) text.options.push_back(text_of(*option));
  return text;
}

// What CLI11 cannot say of options that depend on each other.
std::string check_serve(const ServeOptions& options) {
  if (options.policy_file.empty() && options.upstream.empty()) {
    return "serve needs a policy file (-c FILE), or --upstream URL with --limit";
  }
  if (!options.upstream.empty() && options.limits.empty()) {
    return "--upstream needs at least one --limit, for example --limit '10/s by ip'";
  }
  return {};
}

bool is_command(const CLI::App& app, std::string_view word) {
  const auto commands = app.get_subcommands({});
  return std::any_of(commands.begin(), commands.end(),
                     [word](const CLI::App* command) { return command->get_name() == word; });
}

// A first word that is no command: CLI11 would only say that one is required.
std::string check_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-') || is_command(app, words[0])) return {};
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string near(policy::nearest_word(words[0], names));
  return "unknown command " + policy::quote(words[0]) + ", " +
         (near.empty() ? "there" : "did you mean " + near + "? There") + " are " +
         policy::join_words(names, "and");
}

// `weir help` and `weir help COMMAND`, as --help of what they name.
void read_help(const CLI::App& app, std::vector<std::string>& words) {
  if (words.empty() || words[0] != "help") return;
  const bool named = words.size() > 1 && is_command(app, words[1]);
  words = named ? std::vector<std::string>{words[1], "--help"} : std::vector<std::string>{"--help"};
}

// Of a command that was named, its own help says more.
Finished usage_error(const CLI::App& app, const std::vector<std::string>& words,
                     const std::string& message) {
  const bool named = !words.empty() && is_command(app, words[0]);
  const std::string help = named ? "weir " + words[0] + " --help" : "weir --help";
  return Finished{kExitUsage, "weir: " + message + "\nsee " + help + "\n"};
}

}  // namespace

std::vector<CommandText> describe_commands() {
  CLI::App app(kAbout, "weir");
  AllOptions options;
  add_commands(app, options);
  std::vector<CommandText> texts{text_of(app)};
  for (const CLI::App* command : app.get_subcommands({})) texts.push_back(text_of(*command));
  return texts;
}

Command parse_command_line(int argc, const char* const* argv) {
  CLI::App app(kAbout, "weir");
  AllOptions options;
  add_commands(app, options);
  std::vector<std::string> words(argv + 1, argv + argc);
  read_help(app, words);

  if (const std::string mistake = check_command(app, words); !mistake.empty()) {
    return usage_error(app, words, mistake);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 wants them
  } catch (const CLI::Success& success) {                               // --help, --version
    std::ostringstream out;
    app.exit(success, out, out);
    return Finished{kExitOk, out.str()};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, words, error.what());
  }

  if (app.got_subcommand("serve")) {
    const std::string mistake = check_serve(options.serve);
    if (!mistake.empty()) return usage_error(app, words, mistake);
    return options.serve;
  }
  if (app.got_subcommand("validate")) return options.validate;
  if (app.got_subcommand("top")) return options.top;
  if (app.got_subcommand("keys")) return options.keys;
  if (app.got_subcommand("set")) return options.set;
  if (app.got_subcommand("get")) return options.get;
  if (app.got_subcommand("reset")) return options.reset;
  if (app.got_subcommand("ban")) return options.ban;
  return options.demo;
}

}  // namespace weir::app
