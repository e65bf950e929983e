#include "net/unix_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

namespace weir::net {
namespace {

constexpr mode_t kOwner = S_IRUSR | S_IWUSR;
constexpr mode_t kGroup = kOwner | S_IRGRP | S_IWGRP;

Error cannot_listen(const std::string& path, const std::string& why) {
  return Error{ErrorCode::kIo, "cannot listen on unix://" + path + ": " + why};
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalid, "unix://" + path +
                                          " is longer than a socket's path may be, " +
                                          std::to_string(sizeof address.sun_path - 1) + " bytes"};
  }
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

FileDescriptor open_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

bool bind_to(const FileDescriptor& fd, const sockaddr_un& address) {
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Whether the path is a socket on which nobody listens.
bool is_stale(const sockaddr_un& address) {
  struct stat found {};
  if (lstat(address.sun_path, &found) != 0 || !S_ISSOCK(found.st_mode)) return false;
  const FileDescriptor probe = open_socket();
  const int done =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return done != 0 && errno == ECONNREFUSED;
}

}  // namespace

UnixSocketFile::UnixSocketFile(std::string path) : path_(std::move(path)) {
  struct stat made {};
  if (lstat(path_.c_str(), &made) != 0) path_.clear();
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

UnixSocketFile::UnixSocketFile(UnixSocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}

UnixSocketFile& UnixSocketFile::operator=(UnixSocketFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

UnixSocketFile::~UnixSocketFile() {
  struct stat now {};
  if (path_.empty() || lstat(path_.c_str(), &now) != 0) return;
  if (now.st_dev == device_ && now.st_ino == inode_) unlink(path_.c_str());
}

Result<FileDescriptor> bind_unix_socket(const std::string& path, SocketMode mode,
                                        UnixSocketFile& file) {
  const mode_t bits = mode == SocketMode::kGroup ? kGroup : kOwner;
  const Result<sockaddr_un> address = address_of(path);
  if (!address) return address.error();
  FileDescriptor fd = open_socket();
  if (fd.get() < 0) return cannot_listen(path, strerror(errno));
  // The file is made with the socket's mode, less the umask: never more open than it is to be.
  fchmod(fd.get(), bits);
  bool bound = bind_to(fd, *address);
  if (!bound && errno == EADDRINUSE && is_stale(*address)) {
    unlink(path.c_str());
    bound = bind_to(fd, *address);
  }
  if (!bound) {
    const int number = errno;
    return cannot_listen(path, number == EADDRINUSE
                                   ? "the file exists; another program listens there, or it is no "
                                     "socket: stop it or choose another path"
                                   : strerror(number));
  }
  file = UnixSocketFile(path);
  if (chmod(path.c_str(), bits) != 0) return cannot_listen(path, strerror(errno));
  return fd;
}

Result<FileDescriptor> connect_unix_socket(const std::string& path) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) return address.error();
  FileDescriptor fd = open_socket();
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return Error{ErrorCode::kIo, strerror(errno)};
  }
  return fd;
}

}  // namespace weir::net
