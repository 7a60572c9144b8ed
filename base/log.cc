#include "base/log.h"

#include <fmt/chrono.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <utility>

#include "base/log_format.h"
#include "base/utf8.h"

namespace barnabas {

namespace {

std::atomic<LogSink> replaced_sink = nullptr;
std::atomic<LogFormat> chosen_format = LogFormat::text;

/// WARN and ERROR as people grep for them, padded to the same width.
class LevelName : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& into) override {
    static constexpr std::string_view names[] = {"TRACE", "DEBUG", "INFO ", "WARN ",
                                                 "ERROR", "FATAL", "     "};
    const std::string_view name = names[message.level];
    into.append(name.data(), name.data() + name.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<LevelName>(); }
};

/// Never destroyed: threads may log while the process ends.
spdlog::sinks::sink& standard_error() {
  static spdlog::sinks::sink* sink = [] {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<LevelName>('*').set_pattern("%Y-%m-%d %H:%M:%S.%e %* %-9n %v");
    auto* made = new spdlog::sinks::stderr_sink_mt();
    made->set_formatter(std::move(formatter));
    return made;
  }();
  return *sink;
}

/// Bytes of the character at the start of `text` that may stand in a log line, 0 if there is none. Control
/// characters of the C1 block count as none.
std::size_t printable_length(std::string_view text) {
  const std::size_t length = utf8_length(text);
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  return length == 2 && byte(0) == 0xc2 && byte(1) < 0xa0 ? 0 : length;
}

}  // namespace

constinit std::array<std::atomic<LogLevel>, logger_names.size()> Logger::levels_ = {
    LogLevel::info, LogLevel::info, LogLevel::info, LogLevel::info, LogLevel::info,
    LogLevel::info, LogLevel::info, LogLevel::info, LogLevel::info, LogLevel::info};

/// Which levels were chosen; what is in force stands in Logger::levels_.
class LoggerLevels {
 public:
  static LoggerLevels& instance() {
    static auto* levels = new LoggerLevels;
    return *levels;
  }

  bool set(std::string_view name, std::optional<LogLevel> level) {
    const std::lock_guard lock(mutex_);
    if (name == root_logger) {
      if (!level) return false;
      root_ = *level;
    } else {
      const auto at = std::ranges::find(logger_names, name);
      if (at == logger_names.end()) return false;
      own_[static_cast<std::size_t>(at - logger_names.begin())] = level;
    }
    for (std::size_t i = 0; i < own_.size(); ++i)
      Logger::levels_[i].store(own_[i].value_or(root_), std::memory_order_relaxed);
    return true;
  }

  std::vector<LoggerState> states() {
    const std::lock_guard lock(mutex_);
    std::vector<LoggerState> states{{root_logger, root_}};
    for (std::size_t i = 0; i < own_.size(); ++i)
      states.push_back({logger_names[i], own_[i].value_or(root_)});
    return states;
  }

 private:
  std::mutex mutex_;
  LogLevel root_ = LogLevel::info;
  std::array<std::optional<LogLevel>, logger_names.size()> own_;
};

bool set_logger_level(std::string_view name, std::optional<LogLevel> level) {
  return LoggerLevels::instance().set(name, level);
}

std::vector<LoggerState> logger_states() {
  return LoggerLevels::instance().states();
}

namespace {
constexpr auto level_names =
    std::to_array<std::string_view>({"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"});
}  // namespace

std::string_view log_level_name(LogLevel level) {
  return level_names[std::min(static_cast<std::size_t>(level), level_names.size() - 1)];
}

std::optional<LogLevel> log_level_from_name(std::string_view name) {
  const auto at = std::ranges::find(level_names, name);
  if (at == level_names.end()) return std::nullopt;
  return static_cast<LogLevel>(at - level_names.begin());
}

namespace {
/// "2026-03-01T12:00:00.123Z"
std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto rest = std::chrono::floor<std::chrono::milliseconds>(now - seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), rest.count());
}
}  // namespace

void Logger::name_is_not_in_logger_names() {}

void Logger::write_line(LogLevel level, fmt::string_view format, fmt::format_args args) const {
  fmt::memory_buffer text;
  fmt::vformat_to(fmt::appender(text), format, args);
  if (LogSink sink = replaced_sink.load()) {
    sink(level, name_, {text.data(), text.size()});
    return;
  }
  if (chosen_format.load(std::memory_order_relaxed) == LogFormat::json) {
    const std::string line =
        json_log_line(utc_now(), log_level_name(level), name_, {text.data(), text.size()}) + '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
    return;
  }
  const auto spdlog_level = static_cast<spdlog::level::level_enum>(level);
  spdlog::sinks::sink& sink = standard_error();
  sink.log(spdlog::details::log_msg(name_, spdlog_level, {text.data(), text.size()}));
  sink.flush();
}

std::string log_text(std::string_view text, std::size_t length_max) {
  std::string quoted = "\"";
  const std::string_view shown = text.substr(0, length_max);
  for (std::size_t i = 0; i < shown.size();) {
    const char c = shown[i];
    const std::size_t length = printable_length(shown.substr(i));
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(quoted), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += shown.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  if (shown.size() < text.size()) quoted += "…";
  return quoted + '"';
}

std::optional<uint64_t> LogLimiter::admit(Instant now) {
  std::lock_guard lock(mutex_);
  if (now - window_start_ >= interval_) {
    window_start_ = now;
    written_ = 0;
  }
  if (written_ == lines_) {
    ++left_out_;
    return std::nullopt;
  }
  ++written_;
  return std::exchange(left_out_, 0);
}

void set_log_format(LogFormat format) {
  chosen_format.store(format);
}

void set_log_sink(LogSink sink) {
  replaced_sink.store(sink);
}

}  // namespace barnabas
