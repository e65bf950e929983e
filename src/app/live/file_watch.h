// FileWatch: says when a file may hold something else.
//
// inotify on the folders that lead to the file, not on the file: an editor renames a new one into
// its place, and Kubernetes swaps a link in the middle of the path (weir.yaml -> ..data/weir.yaml,
// ..data -> ..2024_05_01). Folders that go and come again, and file systems that tell nothing, are
// seen by a look every two seconds.
//
// A writer has 50 ms of silence to finish before the change is told. A file that is gone is no
// change: it is told once it is back.
//
// THREADS: one loop.

#pragma once

#include <sys/types.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/loop.h"

namespace weir::app {

class FileWatch {
 public:
  FileWatch(net::Loop& loop, std::string path, std::function<void()> changed);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

 private:
  static constexpr Duration kLookEvery = std::chrono::seconds(2);
  static constexpr Duration kSettle = std::chrono::milliseconds(50);

  // What tells two contents apart without reading them.
  struct Looks {
    dev_t device = 0;
    ino_t node = 0;
    off_t size = 0;
    std::int64_t modified_ns = 0;
    friend bool operator==(const Looks&, const Looks&) = default;
  };

  std::optional<Looks> look() const;
  void watch_folders();
  void wait_for_event();
  void on_event();
  void look_again_after(Duration wait);
  void on_time();

  const std::string path_;
  std::function<void()> changed_;
  boost::asio::posix::basic_stream_descriptor<net::Executor> inotify_;
  net::SteadyTimer timer_;
  std::map<std::string, int> folders_;  // to their watches
  std::optional<Looks> told_;           // of the content that was told last
  std::optional<Looks> last_;           // seen
  bool settling_ = false;               // something came: waits until nothing moves
  // Handlers that outlive this see that it is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir::app
