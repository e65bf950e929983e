// Lines on their way to a file: all of them, in order, to the right file, or counted.

#include "base/line_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>

#include "support/temporary_folder.h"

namespace weir {
namespace {

class LineFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  static std::string text(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  std::unique_ptr<LineFile> opened(const std::string& name) {
    auto file = std::make_unique<LineFile>(dropped_, 1 << 20);
    const auto done = file->open(path(name));
    EXPECT_TRUE(done) << done.error().message;
    return file;
  }

  const support::TemporaryFolder folder_;
  metrics::Registry registry_;
  metrics::Counter dropped_ = registry_.counter("dropped_total", "Dropped.");
};

TEST_F(LineFileTest, EveryLineOfEveryThreadIsThereAtTheEndInItsOrder) {
  auto file = opened("a");
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&file, w] {
      for (int i = 0; i < 1000; ++i) {
        file->write(std::to_string(w) + " " + std::to_string(i) + "\n");
      }
    });
  }
  for (auto& writer : writers) writer.join();
  file.reset();
  std::istringstream lines(text(path("a")));
  std::vector<int> next(4, 0);
  for (std::string line; std::getline(lines, line);) {
    const int writer = line[0] - '0';
    EXPECT_EQ(line, std::to_string(writer) + " " + std::to_string(next[writer]++));
  }
  EXPECT_EQ(next, std::vector<int>(4, 1000));
  EXPECT_EQ(dropped_.value(), 0u);
}

TEST_F(LineFileTest, WhatWasWrittenBeforeAReopenIsInTheFileThatWasMovedAway) {
  auto file = opened("a");
  file->write("one\n");
  std::filesystem::rename(path("a"), path("a.1"));
  file->reopen();
  file->write("two\n");
  file.reset();
  EXPECT_EQ(text(path("a.1")) + "|" + text(path("a")), "one\n|two\n");
}

TEST_F(LineFileTest, AnotherFileTakesTheLinesFromThenOn) {
  auto file = opened("a");
  file->write("one\n");
  ASSERT_TRUE(file->open(path("b")));
  file->write("two\n");
  file->close();
  file->write("nobody wants it\n");
  file.reset();
  EXPECT_EQ(text(path("a")) + "|" + text(path("b")), "one\n|two\n");
  EXPECT_EQ(dropped_.value(), 0u);
}

TEST_F(LineFileTest, AFileIsAppendedToAndNotForEverybodyToRead) {
  opened("a")->write("one\n");
  opened("a")->write("two\n");
  EXPECT_EQ(text(path("a")), "one\ntwo\n");
  struct stat about {};
  ASSERT_EQ(::stat(path("a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & S_IROTH, 0u);
}

TEST_F(LineFileTest, WhatCannotBeOpenedIsAnErrorAndTheOldFileStays) {
  auto file = opened("a");
  const auto failed = file->open("/nowhere/a");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "/nowhere/a cannot be opened for writing: No such file or directory");
  file->write("one\n");
  file.reset();
  EXPECT_EQ(text(path("a")), "one\n");
}

TEST_F(LineFileTest, AfterHalfALineTheNextOneBeginsALineOfItsOwn) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit ten{10, before.rlim_max};
  auto file = opened("a");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &ten), 0);
  file->write("twenty bytes of line\n");
  while (dropped_.value() == 0) std::this_thread::yield();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  file->write("two\n");
  file->write("three\n");
  file.reset();
  EXPECT_EQ(text(path("a")), "twenty byt\ntwo\nthree\n");
  EXPECT_EQ(dropped_.value(), 1u);
}

TEST_F(LineFileTest, APipeThatNobodyReadsFillsUpToTheBoundAndTheRestIsCounted) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const auto unread = LineFile(dropped_).open(path("pipe"));
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().message,
            path("pipe") + " is a pipe that nobody reads; start who reads it first");
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  auto file = opened("pipe");
  const std::string line = std::string(1023, 'x') + "\n";
  // More than the bound, a batch under way, and what the pipe itself takes.
  for (int i = 0; i < 3 * 1024; ++i) file->write(line);
  EXPECT_GT(dropped_.value(), 0u);
  EXPECT_LE(dropped_.value(), 2048u);
  file.reset();  // does not wait for ever
  EXPECT_GT(dropped_.value(), 1024u) << "what was given up is counted too";
  ::close(reader);
}

TEST_F(LineFileTest, WhereLinesAreMissingALineSaysHowManyAndNoneIsTorn) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  LineFile file(dropped_, 1 << 18,
                [](std::uint64_t lines) { return "missing " + std::to_string(lines) + "\n"; });
  ASSERT_TRUE(file.open(path("pipe")));
  std::uint64_t given = 0;
  while (dropped_.value() == 0) file.write(std::to_string(given++) + std::string(1000, 'x') + "\n");
  std::string read;
  std::vector<char> some(1 << 16);
  const auto read_some = [&] {
    const ssize_t n = ::read(reader, some.data(), some.size());
    if (n > 0) read.append(some.data(), static_cast<std::size_t>(n));
  };
  while (read.find("missing") == std::string::npos || read.back() != '\n') read_some();
  file.write("after\n");
  file.flush();
  read_some();
  std::istringstream lines(read);
  std::uint64_t next = 0;
  std::string line;
  while (std::getline(lines, line) && line.back() == 'x') {
    EXPECT_EQ(line, std::to_string(next++) + std::string(1000, 'x'));
  }
  EXPECT_EQ(line, "missing " + std::to_string(given - next));
  EXPECT_EQ(dropped_.value(), given - next);
  std::getline(lines, line);
  EXPECT_EQ(line, "after");
  ::close(reader);
}

TEST_F(LineFileTest, ALineThatIsTooLongForTheBoundIsDroppedAndThoseAfterItAreNot) {
  std::promise<void> told;
  LineFile file(dropped_, 64, [&](std::uint64_t lines) {
    told.set_value();
    return std::to_string(lines) + " gone\n";
  });
  ASSERT_TRUE(file.open(path("a")));
  file.write("first\n");
  file.flush();  // the thread waits for more
  file.write(std::string(100, 'x') + "\n");
  EXPECT_EQ(told.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  file.write("next\n");
  file.finish();
  EXPECT_EQ(text(path("a")), "first\n1 gone\nnext\n");
  EXPECT_EQ(dropped_.value(), 1U);
}

TEST_F(LineFileTest, WhatWasGivenBeforeAFlushIsInTheFile) {
  auto file = opened("a");
  for (int i = 0; i < 100; ++i) {
    const std::string before = text(path("a"));
    file->write("line\n");
    file->flush();
    ASSERT_EQ(text(path("a")), before + "line\n");
  }
}

TEST_F(LineFileTest, OurOwnOutputThatNobodyReadsDoesNotHoldUpTheEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(ends[1], STDOUT_FILENO);
  auto file = std::make_unique<LineFile>(dropped_, 1 << 20);
  const bool opened = file->open("/dev/stdout").has_value();
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  ASSERT_TRUE(opened);
  const std::string line = std::string(1023, 'x') + "\n";
  for (int i = 0; i < 512; ++i) file->write(line);  // a pipe takes 64 KiB
  file.reset();                                     // does not wait for ever
  EXPECT_GT(dropped_.value(), 256u);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace weir
