#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace barnabas {
namespace {

std::vector<std::string> lines;

TEST(Log, writes_lines_of_its_level_and_above) {
  lines.clear();
  set_log_sink([](LogLevel, std::string_view logger, std::string_view text) {
    lines.push_back(std::string(logger) + ": " + std::string(text));
  });
  static constinit Logger log("base");
  log.debug("left out");
  log.info("opened file={} bytes={}", "a", 7);
  EXPECT_TRUE(set_logger_level("base", LogLevel::debug));
  log.debug("kept");
  EXPECT_TRUE(set_logger_level("base", std::nullopt));
  set_log_sink(nullptr);
  EXPECT_EQ(lines, (std::vector<std::string>{"base: opened file=a bytes=7", "base: kept"}));
}

LogLevel level_of(std::string_view name) {
  for (const LoggerState& state : logger_states())
    if (state.name == name) return state.level;
  return LogLevel::off;
}

TEST(Log, loggers_follow_the_root_until_they_have_a_level_of_their_own) {
  EXPECT_TRUE(set_logger_level("network", LogLevel::trace));
  EXPECT_TRUE(set_logger_level("root", LogLevel::error));
  EXPECT_EQ(level_of("network"), LogLevel::trace);
  EXPECT_EQ(level_of("storage"), LogLevel::error);
  static constinit Logger storage("storage");
  EXPECT_FALSE(storage.enabled(LogLevel::warn));
  EXPECT_TRUE(set_logger_level("network", std::nullopt));
  EXPECT_EQ(level_of("network"), LogLevel::error);
  EXPECT_FALSE(set_logger_level("root", std::nullopt));
  EXPECT_FALSE(set_logger_level("nobody", LogLevel::info));
  EXPECT_TRUE(set_logger_level("root", LogLevel::info));
  EXPECT_EQ(level_of("storage"), LogLevel::info);
}

TEST(Log, text_from_outside_cannot_forge_lines) {
  EXPECT_EQ(log_text("a b"), "\"a b\"");
  EXPECT_EQ(log_text("a\nERROR \"b\"\\"), "\"a\\nERROR \\\"b\\\"\\\\\"");
  EXPECT_EQ(log_text(std::string_view("\0\x1b[31m\x7f", 7)), "\"\\x00\\x1b[31m\\x7f\"");
  EXPECT_EQ(log_text("caf\xc3\xa9 \xff\xc3"), "\"caf\xc3\xa9 \\xff\\xc3\"");
  EXPECT_EQ(log_text("abcdef", 3), "\"abc…\"");
}

TEST(Log, limiter_counts_what_it_left_out) {
  using namespace std::chrono_literals;
  LogLimiter limiter(2, 1000ms);
  Instant now = std::chrono::steady_clock::now();
  EXPECT_EQ(limiter.admit(now), 0u);
  EXPECT_EQ(limiter.admit(now), 0u);
  EXPECT_FALSE(limiter.admit(now + 500ms));
  EXPECT_FALSE(limiter.admit(now + 999ms));
  EXPECT_EQ(limiter.admit(now + 1000ms), 2u);
  EXPECT_EQ(limiter.admit(now + 1001ms), 0u);
}

}  // namespace
}  // namespace barnabas
