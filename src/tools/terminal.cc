#include "tools/terminal.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string_view>

namespace weir::tools {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // another screen, no cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

volatile sig_atomic_t asked_to_end = 0;

void on_end(int) {
  asked_to_end = 1;
}

void put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// No SA_RESTART: a key that is waited for is given up.
void catch_signal(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(number, &action, nullptr);
}

Terminal::Input read_escape(std::string_view rest) {
  if (rest == "[A" || rest == "OA") return {Terminal::Key::kUp, 0};
  if (rest == "[B" || rest == "OB") return {Terminal::Key::kDown, 0};
  if (rest.empty()) return {Terminal::Key::kEscape, 0};
  return {};
}

}  // namespace

bool Terminal::is_one() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

bool Terminal::shows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* set = ::getenv(name);
    if (set == nullptr || *set == 0) continue;
    const std::string_view value(set);
    return value.find("UTF-8") != std::string_view::npos ||
           value.find("utf8") != std::string_view::npos;
  }
  return false;
}

Terminal::Terminal() {
  ::tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) catch_signal(number, on_end);
  catch_signal(SIGWINCH, [](int) {});
  put(kEnter);
}

Terminal::~Terminal() {
  put(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

Terminal::Size Terminal::size() const {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
  return {window.ws_col, window.ws_row};
}

// Line by line over what stood there: nothing flickers, also over a slow line.
void Terminal::draw(const std::vector<std::string>& lines) {
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\r\n";
    out += lines[i] + "\x1b[K";
  }
  out += "\x1b[J";
  put(out);
}

Terminal::Input Terminal::read(std::chrono::milliseconds patience) {
  if (asked_to_end != 0) return {Key::kEnd, 0};
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(patience.count()));
  if (asked_to_end != 0) return {Key::kEnd, 0};
  if (ready <= 0) return {};
  char bytes[8];
  const ssize_t got = ::read(STDIN_FILENO, bytes, 1);
  if (got <= 0) return {Key::kEnd, 0};
  const char c = bytes[0];
  if (c == '\x1b') {
    const ssize_t more = ::read(STDIN_FILENO, bytes, 2);
    return read_escape({bytes, static_cast<std::size_t>(more > 0 ? more : 0)});
  }
  if (c == '\r' || c == '\n') return {Key::kEnter, 0};
  if (c == '\x7f' || c == '\b') return {Key::kBackspace, 0};
  if (c >= ' ' && c < '\x7f') return {Key::kCharacter, c};
  return {};
}

}  // namespace weir::tools
