#include "store/memory/snapshot_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <variant>

namespace weir::store {
namespace {

// Against damage, not against malice: who can write the file has its secret.
constexpr SipKey kSumKey{0x7765697220736e61, 0x7073686f74206f6b};
constexpr std::size_t kMaxText = 1024;

std::string beside(const std::string& path) {
  return path + ".new";
}

std::string reason() {
  return std::generic_category().message(errno);
}

struct WriteNumbers {
  SnapshotWriter& out;

  void rate(const Rate& rate) {
    out.word(rate.count);
    out.time(rate.period.count());
  }
  void operator()(const TokenBucket& n) {
    rate(n.rate);
    out.word(n.burst);
    out.byte(n.keeps_time);
  }
  void operator()(const LeakyBucket& n) {
    rate(n.rate);
    out.word(n.queue);
  }
  void operator()(const FixedWindow& n) {
    out.word(n.limit);
    out.byte(static_cast<std::uint8_t>(n.align));
    out.byte(static_cast<std::uint8_t>(n.window.index()));
    if (const auto* length = std::get_if<Duration>(&n.window)) return out.time(length->count());
    const auto& calendar = std::get<Calendar>(n.window);
    out.byte(static_cast<std::uint8_t>(calendar.unit));
    out.text(calendar.timezone);
  }
  void operator()(const SlidingLog& n) {
    out.word(n.limit);
    out.time(n.window.count());
  }
  void operator()(const SlidingCounter& n) {
    out.word(n.limit);
    out.time(n.window.count());
    out.byte(static_cast<std::uint8_t>(n.align));
  }
  void operator()(const Concurrency& n) {
    out.word(n.limit);
    out.time(n.timeout.count());
  }
  void operator()(const Unlimited&) {}
};

Rate read_rate(SnapshotReader& in) {
  const std::uint64_t count = in.word();
  return Rate{count, Duration(in.time())};
}

FixedWindow read_fixed_window(SnapshotReader& in) {
  FixedWindow numbers;
  numbers.limit = in.word();
  numbers.align = static_cast<Align>(in.byte() & 1);
  if (in.byte() == 0) {
    numbers.window = Duration(in.time());
    return numbers;
  }
  Calendar calendar;
  calendar.unit = static_cast<CalendarUnit>(in.byte() % 6);
  calendar.timezone = in.text();
  numbers.window = calendar;
  return numbers;
}

// Whether the last 16 bytes are the sum of all before them.
bool sum_is_right(std::FILE* file) {
  constexpr std::size_t kSumSize = 16;
  if (std::fseek(file, 0, SEEK_END) != 0) return false;
  const long size = std::ftell(file);
  if (size < static_cast<long>(kSumSize)) return false;
  std::rewind(file);
  SipHash sum(kSumKey);
  std::array<char, 65'536> bytes;
  for (auto left = static_cast<std::size_t>(size) - kSumSize; left > 0;) {
    const std::size_t got = std::fread(bytes.data(), 1, std::min(left, bytes.size()), file);
    if (got == 0) return false;
    sum.add({bytes.data(), got});
    left -= got;
  }
  const Hash128 right = sum.finish();
  std::array<std::uint64_t, 2> found{};
  return std::fread(found.data(), 1, kSumSize, file) == kSumSize && found[0] == right.low &&
         found[1] == right.high;
}

}  // namespace

Result<SnapshotWriter> SnapshotWriter::create(const std::string& path) {
  const std::string name = beside(path);
  ::unlink(name.c_str());  // left behind by one that was cut short
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  std::FILE* const file = fd < 0 ? nullptr : ::fdopen(fd, "wb");
  if (file == nullptr) {
    const std::string why = reason();
    if (fd >= 0) ::close(fd);
    return Error{ErrorCode::kIo, "snapshot " + name + " cannot be written: " + why +
                                     "; check the folder of store.snapshot.file"};
  }
  return SnapshotWriter(path, File(file));
}

SnapshotWriter::SnapshotWriter(std::string path, File file)
    : path_(std::move(path)), file_(std::move(file)), sum_(kSumKey) {}

SnapshotWriter::~SnapshotWriter() {
  if (file_ != nullptr) ::unlink(beside(path_).c_str());
}

void SnapshotWriter::text(std::string_view value) {
  word(value.size());
  put(value.data(), value.size());
}

void SnapshotWriter::numbers(const Numbers& value) {
  byte(static_cast<std::uint8_t>(value.index()));
  std::visit(WriteNumbers{*this}, value);
}

void SnapshotWriter::put(const void* bytes, std::size_t size) {
  sum_.add({static_cast<const char*>(bytes), size});
  std::fwrite(bytes, 1, size, file_.get());  // commit() asks whether it went well
}

Error SnapshotWriter::failed(const char* what) const {
  return Error{ErrorCode::kIo, "snapshot " + path_ + " cannot be " + what + ": " + reason() +
                                   "; the one before is kept"};
}

Result<bool> SnapshotWriter::commit() {
  SipHash sum = sum_;
  const Hash128 check = sum.finish();
  word(check.low);
  word(check.high);
  std::FILE* const file = file_.get();
  if (std::fflush(file) != 0 || std::ferror(file) != 0 || ::fsync(::fileno(file)) != 0) {
    return failed("written");
  }
  if (std::rename(beside(path_).c_str(), path_.c_str()) != 0) return failed("put in place");
  file_.reset();
  return true;
}

Result<std::optional<SnapshotReader>> SnapshotReader::open(const std::string& path) {
  File file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr && errno == ENOENT) return std::optional<SnapshotReader>();
  if (file == nullptr) {
    return Error{ErrorCode::kIo, "snapshot " + path + " cannot be read: " + reason() +
                                     "; make it readable, or take it away to start afresh"};
  }
  if (!sum_is_right(file.get())) {
    return Error{ErrorCode::kInvalid,
                 "snapshot " + path + " is damaged; take it away to start afresh"};
  }
  std::rewind(file.get());
  return std::optional(SnapshotReader(std::move(file)));
}

std::uint8_t SnapshotReader::byte() {
  std::uint8_t value = 0;
  get(&value, 1);
  return value;
}

std::uint64_t SnapshotReader::word() {
  std::uint64_t value = 0;
  get(&value, sizeof value);
  return value;
}

std::string SnapshotReader::text() {
  const std::uint64_t size = word();
  if (size > kMaxText) good_ = false;
  if (!good_) return {};
  std::string value(size, '\0');
  get(value.data(), size);
  return value;
}

std::optional<Numbers> SnapshotReader::numbers() {
  switch (static_cast<Algorithm>(byte())) {
    case Algorithm::kTokenBucket: {
      TokenBucket numbers{read_rate(*this), word()};
      numbers.keeps_time = byte() != 0;
      return numbers;
    }
    case Algorithm::kLeakyBucket:
      return LeakyBucket{read_rate(*this), word()};
    case Algorithm::kFixedWindow:
      return read_fixed_window(*this);
    case Algorithm::kSlidingLog: {
      const std::uint64_t limit = word();
      return SlidingLog{limit, Duration(time())};
    }
    case Algorithm::kSlidingCounter: {
      SlidingCounter numbers{word(), Duration(time())};
      numbers.align = static_cast<Align>(byte() & 1);
      return numbers;
    }
    case Algorithm::kConcurrency: {
      const std::uint64_t limit = word();
      return Concurrency{limit, Duration(time())};
    }
    case Algorithm::kUnlimited:
      return Unlimited{};
  }
  good_ = false;
  return std::nullopt;
}

void SnapshotReader::get(void* bytes, std::size_t size) {
  if (good_ && std::fread(bytes, 1, size, file_.get()) != size) good_ = false;
  if (!good_) std::memset(bytes, 0, size);
}

}  // namespace weir::store
