#include "base/text_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_descriptor.h"

namespace weir {
namespace {

Error os_error(const std::string& doing) {
  const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Error{code, doing + ": " + ::strerrordesc_np(errno)};
}

std::string size_of(std::size_t bytes) {
  constexpr std::size_t kMib = 1 << 20;
  return bytes >= kMib ? std::to_string(bytes / kMib) + " MiB"
                       : std::to_string(bytes / 1024) + " KiB";
}

}  // namespace

Result<TextFile> read_text_file(const std::string& path, std::size_t most) {
  // WHY non-blocking: a pipe without a writer must not hold a start up for ever.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return os_error("cannot be opened");
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return os_error("cannot be looked at");
  if (!S_ISREG(about.st_mode)) {
    return Error{ErrorCode::kInvalid, "is not a file but a folder or a device"};
  }
  TextFile out;
  out.world_readable = (about.st_mode & S_IROTH) != 0;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error("cannot be read");
    if (n == 0) return out;
    out.text.append(buffer, static_cast<std::size_t>(n));
    if (out.text.size() > most) {
      return Error{ErrorCode::kExhausted,
                   "is larger than " + size_of(most) + ", the most that is read"};
    }
  }
}

}  // namespace weir
