#include "base/line_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace weir {
namespace {

constexpr int kRoomMs = 100;         // one wait for a pipe's reader
constexpr std::size_t kMaxNext = 8;  // files that wait for their turn
constexpr int kMaxWaits = 10;        // of them, once the program ends
constexpr std::chrono::seconds kFlush{1};
constexpr int kLockTries = 1000;

std::string why(int error) {
  return ::strerrordesc_np(error);
}

std::uint64_t lines_in(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

bool is_pipe(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
}

// The whole lines at the beginning that take no more than PIPE_BUF; of a longer line, so much.
std::string_view first_piece(std::string_view lines) {
  const std::string_view most = lines.substr(0, PIPE_BUF);
  const std::size_t end = most.rfind('\n');
  return end == std::string_view::npos ? most : most.substr(0, end + 1);
}

// Writes the first piece to a descriptor that blocks, if there is room for it: else EAGAIN.
//
// WHY one at a time: two files of ours may lead to one pipe, and its room is asked for first.
ssize_t write_if_room(int fd, std::string_view lines) {
  static std::mutex turn;
  const std::lock_guard lock(turn);
  pollfd one{fd, POLLOUT, 0};
  const int ready = ::poll(&one, 1, 0);
  if (ready < 0) return ready;
  if (ready == 0) {
    errno = EAGAIN;
    return -1;
  }
  const std::string_view piece = first_piece(lines);
  return ::write(fd, piece.data(), piece.size());
}

}  // namespace

LineFile::LineFile(metrics::Counter dropped, std::size_t max_waiting, Gap gap)
    : dropped_(dropped), max_waiting_(max_waiting), gap_(std::move(gap)) {}

// WHY it does not insist on the lock: a program that ends for a fatal mistake asks too, perhaps on
// the thread that holds it.
void LineFile::flush() {
  if (std::this_thread::get_id() == thread_.get_id()) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  for (int tries = 0; !lock && tries < kLockTries; ++tries) {
    std::this_thread::yield();
    lock.try_lock();
  }
  if (!lock) return;
  idle_changed_.wait_for(lock, kFlush,
                         [this] { return idle_ && waiting_.empty() && unplaced_ == 0; });
}

void LineFile::finish() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  path_.clear();
}

Result<FileDescriptor> LineFile::open_file(const std::string& path) {
  int fd = -1;
  if (path == "/dev/stdout" || path == "/dev/stderr") {
    // WHY a copy: where it leads to a socket, as to the journal, it cannot be opened by its name.
    fd = ::fcntl(path == "/dev/stdout" ? STDOUT_FILENO : STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  } else {
    // WHY non-blocking: a pipe whose reader is slow or gone must hold up neither start nor end.
    fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                0640);
  }
  if (fd < 0 && errno == ENXIO && is_pipe(path)) {
    return Error{ErrorCode::kIo, path + " is a pipe that nobody reads; start who reads it first"};
  }
  if (fd < 0) return Error{ErrorCode::kIo, path + " cannot be opened for writing: " + why(errno)};
  return FileDescriptor(fd);
}

Result<bool> LineFile::open(const std::string& path) {
  Result<FileDescriptor> file = open_file(path);
  if (!file) return file.error();
  const std::lock_guard lock(mutex_);
  replace(std::move(*file), path);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  return true;
}

void LineFile::close() {
  const std::lock_guard lock(mutex_);
  if (!path_.empty()) replace(FileDescriptor(), {});
}

// REQUIRES: mutex_ is held.
void LineFile::replace(FileDescriptor file, const std::string& path) {
  // Where the thread is stuck on a pipe, what lies between is left out.
  if (next_.size() == kMaxNext) next_.pop_back();
  next_.push_back({std::move(file), path, waiting_.size()});
  path_ = path;
  changed_.notify_one();
}

void LineFile::reopen() {
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    path = path_;
  }
  if (path.empty()) return;
  if (const Result<bool> opened = open(path)) {
    log::info(path + " is opened again");
  } else {
    log::error(opened.error().message + "; the file before is written on");
  }
}

void LineFile::write(std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (path_.empty()) return;
    // WHY all of them after the first: what is missing then stands in one place, behind what waits.
    if (unplaced_ > 0 || waiting_.size() + line.size() > max_waiting_) {
      dropped_.add();
      if (unplaced_++ > 0 || !waiting_.empty()) return;  // as below
    } else {
      waiting_ += line;
      if (waiting_.size() != line.size()) return;  // the thread has been told, and has not come yet
    }
  }
  changed_.notify_one();
}

void LineFile::run() {
  FileDescriptor file;
  std::string path;
  std::string batch;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto has_work = [this] { return !next_.empty() || !waiting_.empty() || unplaced_ > 0; };
    changed_.wait(lock, [&] { return stopping_ || has_work(); });
    if (!has_work()) return;
    idle_ = false;
    batch.clear();
    batch.swap(waiting_);
    const std::uint64_t dropped = std::exchange(unplaced_, 0);
    std::vector<Next> nexts = std::exchange(next_, {});
    lock.unlock();
    const std::string_view lines = batch;
    std::size_t written = 0;
    for (Next& next : nexts) {
      write_all(file, path, lines.substr(written, next.before - written));
      written = next.before;
      file = std::move(next.file);
      torn_ = false;
      path = std::move(next.path);
    }
    write_all(file, path, lines.substr(written));
    tell_gap(file, path, dropped);
    lock.lock();
    idle_ = true;
    if (waiting_.empty() && unplaced_ == 0) idle_changed_.notify_all();
  }
}

void LineFile::write_all(const FileDescriptor& file, const std::string& path,
                         std::string_view lines) {
  if (file.get() < 0 || lines.empty()) return;
  std::string_view end = torn_ ? "\n" : "";
  int error = append(file.get(), end);
  if (error == 0) error = append_gap(file.get());
  if (error == 0) error = append(file.get(), lines);
  if (error != 0) {
    dropped_.add(lines_in(lines));
    missing_ += lines_in(lines);
    return tell_trouble(path, error);
  }
  if (std::exchange(trouble_, 0) != 0) log::info(path + " is written again");
}

// WHY at once, and not before the next line: there may be none for long.
void LineFile::tell_gap(const FileDescriptor& file, const std::string& path,
                        std::uint64_t dropped) {
  missing_ += dropped;
  if (dropped == 0 || file.get() < 0 || trouble_ != 0) return;
  if (const int error = append_gap(file.get()); error != 0) tell_trouble(path, error);
}

int LineFile::append_gap(int fd) {
  if (missing_ == 0 || !gap_) return 0;
  const std::string text = gap_(missing_);
  std::string_view line = text;
  const int error = append(fd, line);
  if (error == 0) missing_ = 0;
  return error;
}

// What the file does not take stays in `lines`. The error of write, or 0.
//
// WHY piece by piece where it would block: the program's own output may be a pipe that nobody
// reads, and others share it, so that it cannot be made non-blocking. What can be written takes
// PIPE_BUF, and whole lines are not torn by what others write there.
int LineFile::append(int fd, std::string_view& lines) {
  const bool blocks = (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
  while (!lines.empty()) {
    const ssize_t n = blocks ? write_if_room(fd, lines) : ::write(fd, lines.data(), lines.size());
    if (n > 0) {
      const auto taken = static_cast<std::size_t>(n);
      torn_ = lines[taken - 1] != '\n';
      lines.remove_prefix(taken);
    } else if (n < 0 && errno != EINTR && (errno != EAGAIN || !wait_for_room(fd))) {
      return errno;
    }
  }
  return 0;
}

// Until a pipe's reader makes room. False: the program ends, and it has had its second.
bool LineFile::wait_for_room(int fd) {
  for (int waits = 0; waits < kMaxWaits;) {
    pollfd one{fd, POLLOUT, 0};
    if (::poll(&one, 1, kRoomMs) != 0) return true;
    const std::lock_guard lock(mutex_);
    if (stopping_) ++waits;
  }
  errno = EAGAIN;
  return false;
}

void LineFile::tell_trouble(const std::string& path, int error) {
  if (std::exchange(trouble_, error) == error) return;
  log::error(path + " cannot be written: " + why(error) + "; lines are dropped and counted");
}

}  // namespace weir
