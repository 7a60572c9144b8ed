#include "base/log_format.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/log.h"

namespace barnabas {
namespace {

nlohmann::ordered_json fields_of(std::string_view text) {
  auto line = nlohmann::ordered_json::parse(json_log_line("now", "INFO", "network", text));
  EXPECT_EQ(line["time"], "now");
  EXPECT_EQ(line["level"], "INFO");
  EXPECT_EQ(line["logger"], "network");
  for (const char* key : {"time", "level", "logger"}) line.erase(key);
  return line;
}

using Json = nlohmann::ordered_json;

TEST(JsonLogLine, has_the_event_and_its_pairs) {
  EXPECT_EQ(fields_of("connection closed peer=192.0.2.7:40312 reason=idle"),
            (Json{{"message", "connection closed"}, {"peer", "192.0.2.7:40312"}, {"reason", "idle"}}));
  EXPECT_EQ(fields_of("started"), (Json{{"message", "started"}}));
  EXPECT_EQ(fields_of("topic=a not removed"), (Json{{"message", ""}, {"topic", "a not removed"}}));
  EXPECT_EQ(fields_of(""), (Json{{"message", ""}}));
  EXPECT_EQ(fields_of("a b= c=1"), (Json{{"message", "a"}, {"b", ""}, {"c", "1"}}));
}

TEST(JsonLogLine, values_with_spaces_go_up_to_the_next_pair) {
  EXPECT_EQ(fields_of("closed reason=peer is gone count=3"),
            (Json{{"message", "closed"}, {"reason", "peer is gone"}, {"count", "3"}}));
}

TEST(JsonLogLine, quoted_text_from_outside_is_given_back_and_makes_no_pairs) {
  const std::string hostile = "x\" level=ERROR \\\n admin=yes \x01";
  EXPECT_EQ(fields_of("refused name=" + log_text(hostile) + " code=7"),
            (Json{{"message", "refused"}, {"name", hostile}, {"code", "7"}}));
}

TEST(JsonLogLine, a_pair_does_not_take_the_place_of_what_every_line_has) {
  EXPECT_EQ(fields_of("x level=a message=b message=c"),
            (Json{{"message", "x"}, {"level_", "a"}, {"message_", "b"}, {"message__", "c"}}));
}

TEST(JsonLogLine, is_one_line_of_utf_8_whatever_is_logged) {
  const std::string bytes = log_text(std::string("\xff\xfe\n\0", 4));
  const std::string line = json_log_line("t", "WARN", "broker", "got \xc3 bytes=" + bytes);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  for (const char* odd : {"=", " =", "a=\"", "a=\"x", "a=\"\\", "\"", "a=\"\\xq\"", " a=1", "a=b=c d=e"})
    EXPECT_TRUE(nlohmann::json::accept(json_log_line("t", "WARN", "broker", odd))) << odd;
}

TEST(LogFormat, json_goes_to_standard_error_one_object_a_line) {
  constexpr Logger log{"network"};
  testing::internal::CaptureStderr();
  set_log_format(LogFormat::json);
  log.warn("connection closed peer={}", "192.0.2.7:1");
  set_log_format(LogFormat::text);
  log.warn("as before peer={}", 2);
  const std::string said = testing::internal::GetCapturedStderr();
  const auto end = said.find('\n');
  const auto line = nlohmann::json::parse(said.substr(0, end));
  EXPECT_EQ(line["level"], "WARN");
  EXPECT_EQ(line["logger"], "network");
  EXPECT_EQ(line["message"], "connection closed");
  EXPECT_EQ(line["peer"], "192.0.2.7:1");
  const std::string time = line["time"];
  EXPECT_EQ(time.size(), std::string("2026-03-01T12:00:00.123Z").size()) << time;
  EXPECT_NE(said.substr(end + 1).find(" WARN  network   as before peer=2"), std::string::npos) << said;
}

}  // namespace
}  // namespace barnabas
