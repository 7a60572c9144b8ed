#pragma once

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace barnabas {

enum class LogLevel : uint8_t { trace, debug, info, warn, error, off };

/// The names that loggers have. One that is missing here does not compile.
inline constexpr auto logger_names = std::to_array<std::string_view>(
    {"barnabas", "base", "broker", "cluster", "coordinator", "kafka.authorizer.logger", "metadata", "network",
     "security", "storage"});

/// A named source of log lines. Make one per file or class as `constinit Logger log_{"network"};`. Lines go
/// to standard error, one write each, as
///   2026-03-01 12:00:00.123 WARN  network  connection closed peer=192.0.2.7:40312 reason="frame of 7 bytes"
/// Text is a short event followed by key=value pairs; text that comes from outside goes through log_text
/// first. Any thread.
class Logger {
 public:
  constexpr explicit Logger(const char* name) : name_(name), slot_(slot_of(name)) {}
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

  /// Whether a line of this level would be written: set_logger_level.
  bool enabled(LogLevel level) const { return level >= levels_[slot_].load(std::memory_order_relaxed); }
  const char* name() const { return name_; }

 private:
  friend class LoggerLevels;
  static constexpr std::size_t slot_of(std::string_view name) {
    for (std::size_t i = 0; i < logger_names.size(); ++i)
      if (logger_names[i] == name) return i;
    name_is_not_in_logger_names();
    return 0;
  }
  static void name_is_not_in_logger_names();  // not constexpr: ends the constant evaluation
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) const {
    if (enabled(level)) write_line(level, format, args);
  }
  void write_line(LogLevel level, fmt::string_view format, fmt::format_args args) const;

  /// In force now, by logger; info at first.
  static std::array<std::atomic<LogLevel>, logger_names.size()> levels_;
  const char* name_;
  std::size_t slot_;
};

/// The logger whose level all those have that were not given one.
inline constexpr std::string_view root_logger = "root";

/// Changes the least level that a logger (or "root") writes, while the program runs; false when there is no
/// such logger. Nothing as level: what the root has, again; not for the root itself. Any thread.
bool set_logger_level(std::string_view name, std::optional<LogLevel> level);

struct LoggerState {
  std::string_view name;
  LogLevel level;
};
/// The root and all loggers with the levels in force. Any thread.
std::vector<LoggerState> logger_states();

/// TRACE, DEBUG, INFO, WARN, ERROR; FATAL for LogLevel::off, since no line is fatal.
std::string_view log_level_name(LogLevel level);
std::optional<LogLevel> log_level_from_name(std::string_view name);

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
