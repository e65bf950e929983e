#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <mutex>

#include "base/json.h"
#include "base/utf8.h"

namespace weir::log {
namespace {

std::atomic<Format> current_format{Format::kLogfmt};

struct Watcher {
  std::mutex mutex;
  std::function<void(Level, std::string_view)> seen;
};

// WHY never destroyed, as the loggers: threads may log while statics are taken down.
Watcher& watcher() {
  static auto* const instance = new Watcher;
  return *instance;
}

spdlog::logger* make_logger(const char* pattern) {
  auto* made = new spdlog::logger("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  made->set_pattern(pattern, spdlog::pattern_time_type::utc);
  return made;
}

spdlog::logger& logger(Format format) {
  static spdlog::logger* const logfmt = make_logger("ts=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v");
  static spdlog::logger* const json =
      make_logger("{\"ts\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"level\":\"%l\",%v}");
  return format == Format::kJson ? *json : *logfmt;
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
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

void append_logfmt_value(std::string& out, std::string_view value) {
  out += '"';
  std::size_t i = 0;
  while (i < value.size()) {
    const std::size_t length = utf8_length(value.substr(i));
    const std::string_view character = value.substr(i, length == 0 ? 1 : length);
    const char c = value[i];
    if (c == '"' || c == '\\') {
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

void put(Level level, std::string_view message, std::span<const Field> fields) {
  const Format format = current_format.load(std::memory_order_relaxed);
  const std::string line = format_line(format, message, fields);
  logger(format).log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
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

std::string format_line(Format format, std::string_view message, std::span<const Field> fields) {
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
  append_logfmt_value(line, message);
  for (const Field& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    append_logfmt_value(line, field.value);
  }
  return line;
}

void set_format(Format format) {
  current_format.store(format, std::memory_order_relaxed);
}

void write(Level level, std::string_view message) {
  put(level, message, {});
  Watcher& one = watcher();
  const std::lock_guard lock(one.mutex);
  if (one.seen) one.seen(level, message);
}

void record(std::string_view message, std::span<const Field> fields) {
  put(Level::kInfo, message, fields);
}

void watch(std::function<void(Level, std::string_view)> seen) {
  Watcher& one = watcher();
  const std::lock_guard lock(one.mutex);
  one.seen = std::move(seen);
}

}  // namespace weir::log
