// LineFile: lines that are appended to a file by a thread of its own, so that who writes them never
// waits for a disk.
//
// What waits to be written is bounded: a line that finds no room is dropped and counted, as is one
// that the file does not take; where half of one stands, the next begins a line of its own. Where
// lines are missing, a line can say how many. Between two batches the file can be opened again, by
// its name, for whoever has moved it away (logrotate), or another can take its place.
//
// A file is made where there is none, for its owner to write and its group to read. /dev/stdout and
// /dev/stderr are the program's own, whatever they lead to. A pipe needs a reader as it is opened.
//
// THREADS: any.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "base/metrics.h"
#include "weir/result.h"

namespace weir {

class LineFile {
 public:
  static constexpr std::size_t kMaxWaiting = 4 << 20;  // bytes

  // The line, with its newline, that stands in the file for so many that are missing there.
  using Gap = std::function<std::string(std::uint64_t lines)>;

  // `gap` is asked on the thread that writes; null: nothing stands for them.
  explicit LineFile(metrics::Counter dropped, std::size_t max_waiting = kMaxWaiting, Gap gap = {});
  ~LineFile() { finish(); }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // From here on lines go to this file; those that wait still go where they were meant to.
  // ERRORS: kIo, naming the file; then nothing has changed.
  Result<bool> open(const std::string& path);
  // From here on lines are dropped and not counted: nobody wants them.
  void close();
  // Opens the file again by its name. What cannot be opened is logged, and the old file written on.
  void reopen();

  // `line` ends in a newline. Nothing happens where no file is open.
  void write(std::string_view line);

  // Waits until all that was given is written, for a second at most; not on the file's own thread.
  void flush();
  // Writes what waits, and gives up on a file that takes nothing for a second; the end of it.
  void finish();

 private:
  // What takes a file's place once the first `before` of the bytes that wait have been written.
  struct Next {
    FileDescriptor file;
    std::string path;
    std::size_t before = 0;
  };

  static Result<FileDescriptor> open_file(const std::string& path);
  void replace(FileDescriptor file, const std::string& path);
  void run();
  void write_all(const FileDescriptor& file, const std::string& path, std::string_view lines);
  void tell_gap(const FileDescriptor& file, const std::string& path, std::uint64_t dropped);
  int append_gap(int fd);
  int append(int fd, std::string_view& lines);
  bool wait_for_room(int fd);
  void tell_trouble(const std::string& path, int error);

  const metrics::Counter dropped_;
  const std::size_t max_waiting_;
  const Gap gap_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_changed_;
  std::string waiting_;         // by mutex_, as is what follows
  std::uint64_t unplaced_ = 0;  // lines that were dropped behind those that wait
  std::string path_;            // of the file that lines are meant for; empty: of none
  std::vector<Next> next_;
  bool idle_ = true;  // the thread has written all that it took
  bool stopping_ = false;
  std::thread thread_;

  std::uint64_t missing_ = 0;  // the thread's: lines that no gap stands for yet
  int trouble_ = 0;            // the thread's: why the file took nothing last; 0: it does
  bool torn_ = false;  // the thread's: half a line stands at the file's end, for lack of room
};

}  // namespace weir
