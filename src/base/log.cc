#include "base/log.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>

#include "base/hex.h"
#include "base/json.h"
#include "base/line_file.h"
#include "base/metrics.h"
#include "base/utf8.h"

namespace weir::log {
namespace {

std::atomic<Format> current_format{Format::kLogfmt};

struct Watcher {
  std::mutex mutex;
  std::function<void(Level, std::string_view)> seen;
};

// WHY never destroyed, as what else stands here: threads may log while statics are taken down.
Watcher& watcher() {
  static auto* const instance = new Watcher;
  return *instance;
}

// Where lines go: to who writes them in the background, or straight to standard error.
struct Output {
  std::mutex mutex;
  LineFile* background = nullptr;
  std::terminate_handler terminate = nullptr;  // what ends the program by itself
};

Output& output() {
  static auto* const instance = new Output;
  return *instance;
}

// An exception that nobody catches: what led to it is written before the program ends.
void flush_and_terminate() {
  flush();
  output().terminate();
}

metrics::Counter dropped_lines() {
  static const metrics::Counter counter(metrics::Row::take(1).first());
  return counter;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

void append_bytes_in_hex(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    out += "\\x";
    append_hex_byte(out, byte);
  }
}

void append_logfmt_value(std::string& out, std::string_view value, Text text) {
  out += '"';
  std::size_t i = 0;
  while (i < value.size()) {
    const std::size_t length = utf8_length(value.substr(i));
    const std::string_view character = value.substr(i, length == 0 ? 1 : length);
    const char c = value[i];
    if (c == '"' || (c == '\\' && text == Text::kAny)) {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (length == 0 || utf8_is_control(character)) {
      append_bytes_in_hex(out, character);
    } else {
      out += character;
    }
    i += character.size();
  }
  out += '"';
}

// Puts time and level before a line, and its end behind it.
class Frame {
 public:
  explicit Frame(const char* pattern) : formatter_(pattern, spdlog::pattern_time_type::utc, "\n") {}

  std::string around(Level level, std::string_view line) {
    const spdlog::details::log_msg message("weir", to_spdlog(level),
                                           spdlog::string_view_t(line.data(), line.size()));
    spdlog::memory_buf_t text;
    const std::lock_guard lock(mutex_);
    formatter_.format(message, text);
    return {text.data(), text.size()};
  }

 private:
  std::mutex mutex_;
  spdlog::pattern_formatter formatter_;
};

Frame& frame(Format format) {
  static auto* const logfmt = new Frame("ts=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v");
  static auto* const json = new Frame("{\"ts\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"level\":\"%l\",%v}");
  return format == Format::kJson ? *json : *logfmt;
}

std::string whole_line(Level level, std::string_view message, std::span<const Field> fields,
                       Text text = Text::kAny) {
  const Format format = current_format.load(std::memory_order_relaxed);
  return frame(format).around(level, format_line(format, message, fields, text));
}

std::string line_for_dropped(std::uint64_t lines) {
  const std::string many = lines == 1 ? "1 line was" : std::to_string(lines) + " lines were";
  return whole_line(Level::kWarning,
                    many + " dropped here: nobody read the log, or it could not be written", {});
}

void put(Level level, std::string_view message, std::span<const Field> fields, Text text) {
  const std::string line = whole_line(level, message, fields, text);
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  if (out.background != nullptr) return out.background->write(line);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "";
}

std::string format_line(Format format, std::string_view message, std::span<const Field> fields,
                        Text text) {
  std::string line;
  if (format == Format::kJson) {
    line = "\"msg\":";
    append_json_string(line, message);
    for (const Field& field : fields) {
      line += ',';
      append_json_string(line, field.name);
      line += ':';
      append_json_string(line, field.value);
    }
    return line;
  }
  line = "msg=";
  append_logfmt_value(line, message, text);
  for (const Field& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    append_logfmt_value(line, field.value, field.text);
  }
  return line;
}

void set_format(Format format) {
  current_format.store(format, std::memory_order_relaxed);
}

void write(Level level, std::string_view message, Text text) {
  put(level, message, {}, text);
  Watcher& one = watcher();
  const std::lock_guard lock(one.mutex);
  if (one.seen) one.seen(level, message);
}

void record(std::string_view message, std::span<const Field> fields) {
  put(Level::kInfo, message, fields, Text::kAny);
}

void watch(std::function<void(Level, std::string_view)> seen) {
  Watcher& one = watcher();
  const std::lock_guard lock(one.mutex);
  one.seen = std::move(seen);
}

Background::Background() {
  auto file = std::make_unique<LineFile>(dropped_lines(), kMaxWaiting, line_for_dropped);
  if (!file->open("/dev/stderr")) return;
  file_ = std::move(file);
  const std::lock_guard lock(output().mutex);
  output().background = file_.get();
  output().terminate = std::set_terminate(flush_and_terminate);
}

Background::~Background() {
  if (!file_) return;
  std::set_terminate(output().terminate);
  // WHY it ends before lines go another way: it may log itself, and must not wait for a reader.
  file_->finish();
  const std::lock_guard lock(output().mutex);
  output().background = nullptr;
}

// WHY no lock: who ends the program for a fatal mistake may hold it; and a Background outlives who
// logs.
void flush() {
  if (output().background != nullptr) output().background->flush();
}

std::uint64_t dropped() {
  return dropped_lines().value();
}

}  // namespace weir::log
