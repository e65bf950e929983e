// HandOver: the listening sockets' way from one process to the one that replaces it.
//
//   new: connects to the unix socket          old: sends each socket (SCM_RIGHTS), then the end
//   new: serves on them, and says so          old: listens here no longer, stops, and drains
//   new: listens on the unix socket itself
//
// Both have the same sockets and so the same queues: a connection that waits to be accepted is
// accepted by whichever serves, and none is lost. A new process that fails before it serves changes
// nothing.
//
// Only the same user, or root, is given anything; the socket's mode is 0600.
//
// THREADS: one owner's; what it is given runs on a thread of its own.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "net/inherited_sockets.h"
#include "net/unix_socket.h"
#include "weir/result.h"

namespace weir::app {

class HandOver {
 public:
  // Takes what the process that listens on `path` hands over; nothing where none does.
  // ERRORS: kIo, when there is one and it does not hand over within 5 s.
  static Result<std::unique_ptr<HandOver>> take(std::string path, net::InheritedSockets& into);
  ~HandOver();
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

  struct Offer {
    std::function<std::vector<FileDescriptor>()> sockets;  // copies
    std::function<void()> given;  // somebody else serves on them from here on
  };
  // Sends the process that was taken over from away, and offers the same to the next. Once that
  // one serves, `given` runs. REQUIRES: this process serves.
  // ERRORS: kIo, kInvalid, as to listen on the path.
  Result<bool> offer(Offer offer);

 private:
  explicit HandOver(std::string path) : path_(std::move(path)) {}
  Result<bool> receive(net::InheritedSockets& into);
  void dismiss_predecessor();
  void run();
  bool give(const FileDescriptor& successor);

  const std::string path_;
  FileDescriptor predecessor_;
  Offer offer_;
  FileDescriptor listening_;
  net::UnixSocketFile file_;
  FileDescriptor stop_;  // an eventfd: ends run()
  std::thread thread_;
};

}  // namespace weir::app
