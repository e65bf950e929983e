#include "app/top.h"

#include <stdlib.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>

#include "base/json.h"
#include "base/seconds.h"
#include "net/steady_time.h"
#include "tools/admin_client.h"
#include "tools/terminal.h"
#include "tools/top_screen.h"

namespace weir::app {

Result<tools::AdminClient> client_for(const AdminOptions& options) {
  std::string token = options.token;
  const char* set = ::getenv("WEIR_ADMIN_TOKEN");
  if (token.empty() && set != nullptr) token = set;
  net::TlsClientFiles files;
  files.ca = options.ca;
  files.cert = options.cert;
  files.key = options.key;
  return tools::AdminClient::make(options.url, std::move(token), files);
}

namespace {

using tools::AdminClient;
using tools::Terminal;
using tools::TopView;

int fail(const Error& error) {
  std::fprintf(stderr, "weir: %s\n", error.message.c_str());
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
}

Result<boost::json::value> ask_stats(const AdminClient& client) {
  auto body = client.get("/v1/stats");
  if (!body) return body.error();
  while (body->ends_with('\n')) body->pop_back();
  return parse_json(*body);
}

void print(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const auto end = line.find_last_not_of(' ');
    std::printf("%s\n", line.substr(0, end == std::string::npos ? 0 : end + 1).c_str());
  }
}

class Top {
 public:
  Top(const AdminClient& client, std::chrono::milliseconds every) : client_(client), every_(every) {
    options_.where = client.address();
    options_.blocks = Terminal::shows_utf8();
  }

  void run() {
    std::int64_t due = 0;
    while (!done_) {
      const std::int64_t now = net::steady_ns();
      if (now >= due) {
        refresh();
        due = net::steady_ns() + every_.count() * kNsPerMs;
      }
      const Terminal::Size size = terminal_.size();
      options_.columns = size.columns;
      options_.rows = size.rows;
      terminal_.draw(tools::top_screen(stats_, options_));
      const auto left = std::chrono::milliseconds((due - net::steady_ns()) / kNsPerMs + 1);
      take(terminal_.read(std::max(left, std::chrono::milliseconds(0))));
    }
  }

 private:
  void refresh() {
    auto told = ask_stats(client_);
    options_.trouble = told ? std::string() : told.error().message;
    if (told) stats_ = std::move(*told);
  }

  void take(Terminal::Input input) {
    if (input.key == Terminal::Key::kEnd) done_ = true;
    options_.typing ? type(input) : command(input);
  }

  void type(Terminal::Input input) {
    using Key = Terminal::Key;
    std::string& filter = options_.filter;
    if (input.key == Key::kCharacter && filter.size() < 64) filter += input.character;
    if (input.key == Key::kBackspace && !filter.empty()) filter.pop_back();
    if (input.key == Key::kEscape) filter.clear();
    if (input.key == Key::kEscape || input.key == Key::kEnter) options_.typing = false;
    options_.scroll = 0;
  }

  void command(Terminal::Input input) {
    using Key = Terminal::Key;
    if (input.key == Key::kDown) ++options_.scroll;
    if (input.key == Key::kUp && options_.scroll > 0) --options_.scroll;
    if (input.key == Key::kEscape) options_.filter.clear();
    if (input.key != Key::kCharacter) return;
    switch (input.character) {
      case 'q':
        done_ = true;
        return;
      case 's':
        options_.sort = static_cast<tools::TopSort>((static_cast<int>(options_.sort) + 1) % 5);
        return;
      case 'r':
        options_.reversed = !options_.reversed;
        return;
      case '/':
        options_.typing = true;
        return;
      case 'k':
        options_.view = options_.view == TopView::kKeys ? TopView::kLimits : TopView::kKeys;
        return;
    }
  }

  const AdminClient& client_;
  const std::chrono::milliseconds every_;
  tools::TopOptions options_;
  boost::json::value stats_;
  bool done_ = false;
  Terminal terminal_;
};

}  // namespace

int run_top(const TopOptions& options) {
  const auto client = client_for(options.admin);
  if (!client) return fail(client.error());
  if (!options.once && !options.json && Terminal::is_one()) {
    Top(*client, std::chrono::milliseconds(options.every_ms)).run();
    return kExitOk;
  }
  const auto stats = ask_stats(*client);
  if (!stats) return fail(stats.error());
  if (options.json) {
    std::printf("%s\n", boost::json::serialize(*stats).c_str());
    return kExitOk;
  }
  tools::TopOptions screen;
  screen.where = client->address();
  screen.rows = 0;
  screen.blocks = Terminal::shows_utf8();
  print(tools::top_screen(*stats, screen));
  return kExitOk;
}

int run_keys(const KeysOptions& options) {
  const auto client = client_for(options.admin);
  if (!client) return fail(client.error());
  const auto stats = ask_stats(*client);
  if (!stats) return fail(stats.error());
  if (options.json) {
    std::printf("%s\n", boost::json::serialize(stats->at("keys")).c_str());
    return kExitOk;
  }
  print(tools::key_table(*stats, 100));
  return kExitOk;
}

}  // namespace weir::app
