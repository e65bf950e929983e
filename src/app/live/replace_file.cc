#include "app/live/replace_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_descriptor.h"

namespace weir::app {
namespace {

Error io_error(const std::string& file, const std::string& what) {
  return Error{ErrorCode::kIo, file + " " + what + ": " + strerror(errno)};
}

// WHY it is not left for the next try: half of it fills a disk that is full.
Error given_up(const std::string& fresh, Error error) {
  ::unlink(fresh.c_str());
  return error;
}

Result<bool> write_all(int fd, std::string_view text, const std::string& file) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(file, "cannot be written");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) return io_error(file, "cannot be written");
  return true;
}

}  // namespace

Result<bool> replace_file(const std::string& file, std::string_view text) {
  const std::string fresh = file + ".new";
  {
    const FileDescriptor fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (fd.get() < 0) return io_error(fresh, "cannot be made");
    const Result<bool> written = write_all(fd.get(), text, fresh);
    if (!written) return given_up(fresh, written.error());
  }
  if (::rename(fresh.c_str(), file.c_str()) != 0) {
    return given_up(fresh, io_error(file, "cannot be replaced"));
  }
  return true;
}

}  // namespace weir::app
