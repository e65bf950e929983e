// FilesWatch: several files that are of use only together, such as a certificate and its key.
//
// A change of one is told once there has been no other for a tenth of a second, so that who
// replaces all of them is told of once.
//
// THREADS: one loop.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/live/file_watch.h"

namespace weir::app {

class FilesWatch {
 public:
  FilesWatch(net::Loop& loop, std::function<void()> changed)
      : loop_(loop), changed_(std::move(changed)), settle_(loop.executor()) {}

  // Watches these from now on, in place of those before.
  void watch(std::vector<std::string> files) {
    if (files == files_) return;
    files_ = std::move(files);
    watches_.clear();
    for (const std::string& file : files_) {
      watches_.push_back(std::make_unique<FileWatch>(loop_, file, [this] { on_change(); }));
    }
  }

 private:
  static constexpr Duration kSettle = std::chrono::milliseconds(100);

  void on_change() {
    settle_.expires_after(kSettle);
    settle_.async_wait([this](const net::SystemError& error) {
      if (!error) changed_();
    });
  }

  net::Loop& loop_;
  const std::function<void()> changed_;
  net::SteadyTimer settle_;
  std::vector<std::string> files_;
  std::vector<std::unique_ptr<FileWatch>> watches_;
};

}  // namespace weir::app
