#include "app/test_clock.h"

#ifdef WEIR_TEST_HOOKS

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace weir::app {
namespace {

constexpr std::size_t kMaxLine = 128;

bool parse_ns(std::string_view text, std::int64_t& ns) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), ns);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

Result<std::unique_ptr<TestClock>> TestClock::listen(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalid, "--test-clock: the socket's path is too long"};
  }
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 ||
      ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 4) != 0) {
    const std::string why = std::strerror(errno);
    if (listener >= 0) ::close(listener);
    return Error{ErrorCode::kIo, "--test-clock " + socket_path + ": " + why};
  }
  return std::unique_ptr<TestClock>(new TestClock(socket_path, listener));
}

TestClock::TestClock(std::string path, int listener)
    : path_(std::move(path)), listener_(listener), clock_(SystemClock().now()) {
  if (::pipe2(stop_pipe_, O_CLOEXEC) != 0) return;
  thread_ = std::thread([this] { serve(); });
}

TestClock::~TestClock() {
  if (thread_.joinable()) {
    [[maybe_unused]] const auto written = ::write(stop_pipe_[1], "x", 1);
    thread_.join();
  }
  ::close(listener_);
  for (const int end : stop_pipe_) {
    if (end >= 0) ::close(end);
  }
  ::unlink(path_.c_str());
}

void TestClock::serve() {
  for (;;) {
    pollfd waits[] = {{listener_, POLLIN, 0}, {stop_pipe_[0], POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    if (waits[0].revents == 0) continue;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    const bool go_on = serve_one(connection);
    ::close(connection);
    if (!go_on) return;
  }
}

// Serves one connection to its end. False when the program stops.
bool TestClock::serve_one(int connection) {
  std::string pending;
  for (;;) {
    pollfd waits[] = {{connection, POLLIN, 0}, {stop_pipe_[0], POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return false;
    if (waits[1].revents != 0) return false;
    if (waits[0].revents == 0) continue;
    char buffer[kMaxLine];
    const auto got = ::read(connection, buffer, sizeof buffer);
    if (got <= 0 || pending.size() > kMaxLine) return true;
    pending.append(buffer, static_cast<std::size_t>(got));
    for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      const std::string answer = obey(pending.substr(0, end)) + "\n";
      pending.erase(0, end + 1);
      if (::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return true;
    }
  }
}

std::string TestClock::obey(const std::string& line) {
  const auto blank = line.find(' ');
  Instant t;
  if (!parse_ns(std::string_view(line).substr(0, blank), t.steady_ns)) {
    return "error: expected one or two numbers of nanoseconds";
  }
  t.wall_ns = t.steady_ns;
  if (blank != std::string::npos &&
      !parse_ns(std::string_view(line).substr(blank + 1), t.wall_ns)) {
    return "error: the second number is not one";
  }
  clock_.set(t);
  return "ok";
}

}  // namespace weir::app

#endif  // WEIR_TEST_HOOKS
