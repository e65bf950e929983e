#include "app/live/file_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "base/seconds.h"

namespace weir::app {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE |
                                  IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

// The folders in which a change can give `path` another content: those of the path itself and of
// each link on the way, link after link.
std::set<std::string> folders_to(std::filesystem::path path) {
  std::set<std::string> folders;
  std::error_code ignored;
  path = std::filesystem::absolute(path, ignored);
  for (int links = 0; links < kMaxLinks; ++links) {
    std::filesystem::path walked;
    bool followed = false;
    for (const auto& part : path) {
      const std::filesystem::path at = walked / part;
      if (!std::filesystem::is_symlink(at, ignored)) {
        walked = at;
        continue;
      }
      folders.insert(walked.string());
      const auto target = std::filesystem::read_symlink(at, ignored);
      const auto rest = path.lexically_relative(at);
      path = (target.is_absolute() ? target : walked / target);
      if (rest != ".") path /= rest;
      followed = true;
      break;
    }
    if (!followed) break;
  }
  folders.insert(path.parent_path().string());
  return folders;
}

}  // namespace

FileWatch::FileWatch(net::Loop& loop, std::string path, std::function<void()> changed)
    : path_(std::move(path)),
      changed_(std::move(changed)),
      inotify_(loop.executor()),
      timer_(loop.executor()) {
  const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd >= 0) {  // without it, out of descriptors, the looks remain
    inotify_.assign(fd);
    wait_for_event();
  }
  watch_folders();
  told_ = last_ = look();
  look_again_after(kLookEvery);
}

FileWatch::~FileWatch() {
  *alive_ = false;
}

std::optional<FileWatch::Looks> FileWatch::look() const {
  struct stat about {};
  if (stat(path_.c_str(), &about) != 0) return std::nullopt;
  return Looks{about.st_dev, about.st_ino, about.st_size,
               about.st_mtim.tv_sec * kNsPerSecond + about.st_mtim.tv_nsec};
}

// A folder that was made anew needs a new watch: adding one that stands changes nothing.
void FileWatch::watch_folders() {
  if (!inotify_.is_open()) return;
  const std::set<std::string> wanted = folders_to(path_);
  for (auto it = folders_.begin(); it != folders_.end();) {
    if (wanted.contains(it->first)) {
      ++it;
      continue;
    }
    inotify_rm_watch(inotify_.native_handle(), it->second);
    it = folders_.erase(it);
  }
  for (const std::string& folder : wanted) {
    const int watch = inotify_add_watch(inotify_.native_handle(), folder.c_str(), kEvents);
    if (watch >= 0) folders_[folder] = watch;
  }
}

void FileWatch::wait_for_event() {
  inotify_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                      [this, alive = alive_](const net::SystemError& error) {
                        if (*alive && !error) on_event();
                      });
}

void FileWatch::on_event() {
  std::array<char, 4096> events{};
  while (::read(inotify_.native_handle(), events.data(), events.size()) > 0) {
  }
  // WHY not anew at each event: other files of a busy folder would put the look off for ever.
  if (!settling_) look_again_after(kSettle);
  settling_ = true;
  wait_for_event();
}

void FileWatch::look_again_after(Duration wait) {
  timer_.expires_after(wait);
  timer_.async_wait([this, alive = alive_](const net::SystemError& error) {
    if (*alive && !error) on_time();
  });
}

void FileWatch::on_time() {
  watch_folders();
  const std::optional<Looks> now = look();
  const bool moving = now != last_;
  last_ = now;
  settling_ = moving;  // the writer may still be at it
  if (moving) return look_again_after(kSettle);
  look_again_after(kLookEvery);
  if (now == told_) return;
  told_ = now;  // one that was gone is news when it is back, as it was or not
  if (now) changed_();
}

}  // namespace weir::app
