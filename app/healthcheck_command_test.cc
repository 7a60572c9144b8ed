#include "app/healthcheck_command.h"

#include <gtest/gtest.h>

namespace barnabas::app {
namespace {

std::string asked(const std::string& url, const std::string& address, bool live,
                  const std::string& listeners) {
  const auto question = health_question(url, address, live, listeners);
  return question ? question->address.to_string() + " " + question->path : question.error().message;
}

TEST(Healthcheck, asks_where_it_is_told_to) {
  EXPECT_EQ(asked("", "", false, "127.0.0.1:9644"), "127.0.0.1:9644 /readyz");
  EXPECT_EQ(asked("", "", true, "127.0.0.1:9644"), "127.0.0.1:9644 /livez");
  EXPECT_EQ(asked("", "10.0.0.1:1", false, "127.0.0.1:9644"), "10.0.0.1:1 /readyz");
  EXPECT_EQ(asked("http://[::1]:80/x/y", "10.0.0.1:1", false, ""), "[::1]:80 /x/y");
  EXPECT_EQ(asked("http://broker:80", "", true, ""), "broker:80 /livez");
}

TEST(Healthcheck, reaches_what_listens_on_every_interface_on_this_machine) {
  EXPECT_EQ(asked("", "", false, "0.0.0.0:9644,[::]:9645"), "127.0.0.1:9644 /readyz");
  EXPECT_EQ(asked("", "", false, "*:1"), "127.0.0.1:1 /readyz");
  EXPECT_EQ(asked("", "", false, "[::]:1"), "[::1]:1 /readyz");
}

TEST(Healthcheck, says_what_is_wrong_with_an_address) {
  EXPECT_NE(asked("https://x:1", "", false, "").find("--url: expected http://"), std::string::npos);
  EXPECT_NE(asked("", "x", false, "").find("--address: \"x\": no port"), std::string::npos);
  EXPECT_NE(asked("", "", false, "").find("KAFKA_HTTP_LISTENERS: \"\": no port"), std::string::npos);
}

}  // namespace
}  // namespace barnabas::app
