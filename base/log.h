#pragma once

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace barnabas {

enum class LogLevel : uint8_t { trace, debug, info, warn, error, off };

/// A named source of log lines. Make one per file or class as `constinit Logger log_{"network"};`. Lines go
/// to standard error, one write each, as
///   2026-03-01 12:00:00.123 WARN  network  connection closed peer=192.0.2.7:40312 reason="frame of 7 bytes"
/// Text is a short event followed by key=value pairs; text that comes from outside goes through log_text
/// first. Any thread.
class Logger {
 public:
  constexpr explicit Logger(const char* name) : name_(name) {}
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  template <class... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::trace, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::info, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::warn, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::error, format, fmt::make_format_args(args...));
  }

  bool enabled(LogLevel level) const { return level >= log_level(); }
  const char* name() const { return name_; }

  /// The least level that is written, for all loggers; info at first.
  static LogLevel log_level() { return level_.load(std::memory_order_relaxed); }
  static void set_log_level(LogLevel level) { level_.store(level, std::memory_order_relaxed); }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) const {
    if (enabled(level)) write_line(level, format, args);
  }
  void write_line(LogLevel level, fmt::string_view format, fmt::format_args args) const;

  static inline std::atomic<LogLevel> level_ = LogLevel::info;
  const char* name_;
};

/// Untrusted text for a log line: in double quotes, control characters, quotes and bytes that are not UTF-8
/// text escaped, at most `length_max` bytes of it (then "…" follows).
std::string log_text(std::string_view text, std::size_t length_max = 200);

/// For lines that somebody outside can provoke at will. `admit` says whether to write now and, if so, how
/// many were left out since the last one. Any thread.
class LogLimiter {
 public:
  LogLimiter(uint32_t lines, std::chrono::milliseconds interval) : lines_(lines), interval_(interval) {}

  std::optional<uint64_t> admit(Instant now);

 private:
  const uint32_t lines_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  Instant window_start_{};
  uint32_t written_ = 0;
  uint64_t left_out_ = 0;
};

/// Replaces where lines go, for tests that look at them; nullptr is standard error again. Not while others
/// log.
using LogSink = void (*)(LogLevel level, std::string_view logger, std::string_view text);
void set_log_sink(LogSink sink);

}  // namespace barnabas
