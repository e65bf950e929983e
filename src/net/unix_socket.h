// Unix sockets that are listened on: the file that one is, and its end.
//
// The file's mode says who may connect: 0660, the owner and the group, or 0600. One that nobody
// listens on any more, left by a program that was killed, is replaced; one that somebody listens on
// is an error.
//
// THREADS: plain functions; a file is its owner's.

#pragma once

#include <sys/types.h>

#include <string>

#include "base/file_descriptor.h"
#include "weir/result.h"

namespace weir::net {

// Removes the file when it goes, if it is still the one that was made.
class UnixSocketFile {
 public:
  UnixSocketFile() = default;  // none
  // REQUIRES: a socket has been bound to the path.
  explicit UnixSocketFile(std::string path);
  UnixSocketFile(UnixSocketFile&& other) noexcept;
  UnixSocketFile& operator=(UnixSocketFile&& other) noexcept;
  ~UnixSocketFile();

  // Leaves the file to whoever has the socket now.
  void release() { path_.clear(); }

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

enum class SocketMode { kGroup, kOwner };  // 0660, 0600

// A socket bound to the path, which does not listen yet.
// ERRORS: kInvalid when the path is too long for a socket; kIo when it is in use or cannot be made.
Result<FileDescriptor> bind_unix_socket(const std::string& path, SocketMode mode,
                                        UnixSocketFile& file);

// Connected, and non-blocking. ERRORS: kIo, also when too many wait to be accepted.
Result<FileDescriptor> connect_unix_socket(const std::string& path);

}  // namespace weir::net
