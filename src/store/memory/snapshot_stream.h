// The bytes of a snapshot, written and read piece by piece: little-endian words, texts, numbers of
// limits, and at the end a checksum of all before it.
//
// A file is written beside its place, for the owner's eyes only (mode 0600: it holds the secret of
// the fingerprints), and takes its place whole or not at all.
//
// THREADS: one at a time.

#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/siphash.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::store {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

class SnapshotWriter {
 public:
  // ERRORS: kIo, naming the file.
  static Result<SnapshotWriter> create(const std::string& path);
  ~SnapshotWriter();
  SnapshotWriter(SnapshotWriter&&) = default;
  SnapshotWriter& operator=(SnapshotWriter&&) = delete;

  void byte(std::uint8_t value) { put(&value, 1); }
  void word(std::uint64_t value) { put(&value, sizeof value); }
  void time(std::int64_t value) { word(static_cast<std::uint64_t>(value)); }
  void text(std::string_view value);
  void numbers(const Numbers& value);

  // Puts the file in its place. ERRORS: kIo; the old file is then as it was.
  Result<bool> commit();

 private:
  SnapshotWriter(std::string path, File file);
  void put(const void* bytes, std::size_t size);
  Error failed(const char* what) const;

  std::string path_;
  File file_;
  SipHash sum_;
};

class SnapshotReader {
 public:
  // Nothing where there is no such file. ERRORS: kIo, kInvalid where the checksum is not right.
  static Result<std::optional<SnapshotReader>> open(const std::string& path);

  std::uint8_t byte();
  std::uint64_t word();
  std::int64_t time() { return static_cast<std::int64_t>(word()); }
  std::string text();
  std::optional<Numbers> numbers();

  // Whether everything that was asked for was there.
  bool good() const { return good_; }

 private:
  explicit SnapshotReader(File file) : file_(std::move(file)) {}
  void get(void* bytes, std::size_t size);

  File file_;
  bool good_ = true;
};

}  // namespace weir::store
