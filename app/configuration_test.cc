#include "app/configuration.h"

#include <gtest/gtest.h>

#include "base/properties.h"

namespace barnabas::app {
namespace {

std::vector<std::pair<std::string, std::string>> parsed(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto properties = parse_properties(text).value();
  for (const Property& property : properties) pairs.emplace_back(property.name, property.value);
  return pairs;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(Properties, separators_blanks_and_comments_are_read_as_java_reads_them) {
  EXPECT_EQ(parsed("a=1\n b = 2 \nc:3\nd 4\n# no\n! no\n\ne\n"),
            (Pairs{{"a", "1"}, {"b", "2 "}, {"c", "3"}, {"d", "4"}, {"e", ""}}));
}

TEST(Properties, lines_continue_behind_a_backslash) {
  EXPECT_EQ(parsed("a=1,\\\n   2\r\nb=x\\\\\nc=3"), (Pairs{{"a", "1,2"}, {"b", "x\\"}, {"c", "3"}}));
}

TEST(Properties, escapes_in_names_and_values) {
  EXPECT_EQ(parsed("a\\=b=\\u00e9\\t\\q"), (Pairs{{"a=b", "\xc3\xa9\tq"}}));
  EXPECT_FALSE(parse_properties("a=\\u12"));
}

TEST(Properties, lines_are_counted_for_messages) {
  const auto properties = parse_properties("# c\na=1\\\n2\nb=3").value();
  EXPECT_EQ(properties[0].line, 2);
  EXPECT_EQ(properties[1].line, 4);
}

TEST(Properties, arbitrary_bytes_never_crash_the_reader) {
  for (int seed = 0; seed < 2000; ++seed) {
    std::string text;
    unsigned state = static_cast<unsigned>(seed);
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525U + 1013904223U;
      text += "=:\\#! \n\r\tau0\x80"[(state >> 16) % 13];
    }
    (void)parse_properties(text);
  }
}

TEST(Environment, names_follow_the_rule_of_the_container_images) {
  EXPECT_EQ(setting_of_variable("KAFKA_LOG_DIRS", "/d")->name, "log.dirs");
  EXPECT_EQ(setting_of_variable("KAFKA_CFG_NODE_ID", "1")->name, "node.id");
  EXPECT_EQ(setting_of_variable("KAFKA_LISTENER_NAME_TC___0_SSL_X__Y", "")->name,
            "listener.name.tc-0.ssl.x_y");
  EXPECT_FALSE(setting_of_variable("KAFKA_HEAP_OPTS", "-Xmx1G"));
  EXPECT_FALSE(setting_of_variable("KAFKA_PORT", "tcp://10.0.0.1:9092"));
  EXPECT_FALSE(setting_of_variable("PATH", "/bin"));
}

TEST(Configuration, override_beats_environment_beats_file_beats_default) {
  ConfigurationSources sources{
      "f.properties",
      "num.partitions=2\nlog.dirs=/a\nmessage.max.bytes=5000\n",
      {{"KAFKA_NUM_PARTITIONS", "num.partitions", "3"}, {"KAFKA_LOG_DIRS", "log.dirs", "/b"}},
      {"num.partitions=4"}};
  const auto config = load_configuration(sources);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->integer("num.partitions"), 4);
  EXPECT_EQ(config->text("log.dirs"), "/b");
  EXPECT_EQ(config->integer("message.max.bytes"), 5000);
  EXPECT_EQ(config->integer("num.network.threads"), 3);
}

TEST(Configuration, errors_name_file_line_setting_and_value) {
  const auto config = load_configuration({"f.properties", "node.id=1\nnum.partitions=none\n", {}, {}});
  ASSERT_FALSE(config);
  for (const char* part : {"f.properties:2", "num.partitions", "none", "[1,...]"})
    EXPECT_NE(config.error().message.find(part), std::string::npos)
        << part << " in " << config.error().message;
}

TEST(Configuration, without_a_file_the_embedded_default_listens_on_loopback_only) {
  const auto config = load_configuration({"", "", {}, {}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->text("listeners"), "PLAINTEXT://127.0.0.1:9092");
}

TEST(Configuration, a_byte_order_mark_is_no_part_of_the_first_name) {
  const auto config = load_configuration({"f.properties", "\xEF\xBB\xBFnum.partitions=5\n", {}, {}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->integer("num.partitions"), 5);
}

TEST(Configuration, listeners_are_derived_from_advertised_ones) {
  const auto config = load_configuration(
      {"", "", {{"KAFKA_ADVERTISED_LISTENERS", "advertised.listeners", "PLAINTEXT://h.example:9095"}}, {}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->text("listeners"), "PLAINTEXT://0.0.0.0:9095");
}

TEST(Configuration, who_says_that_no_number_of_records_is_worth_a_sync_gets_no_sync_before_the_answer) {
  const auto synced = [](std::vector<EnvironmentSetting> environment) {
    const auto config = load_configuration({"", "", std::move(environment), {}});
    EXPECT_TRUE(config) << config.error().message;
    return config->boolean("log.flush.before.ack");
  };
  const EnvironmentSetting never{"KAFKA_LOG_FLUSH_INTERVAL_MESSAGES", "log.flush.interval.messages",
                                 "9223372036854775807"};
  EXPECT_TRUE(synced({}));
  EXPECT_FALSE(synced({never}));
  EXPECT_TRUE(synced({{never.variable, never.name, "10000"}}));
  EXPECT_TRUE(synced({never, {"KAFKA_LOG_FLUSH_BEFORE_ACK", "log.flush.before.ack", "true"}}));
}

}  // namespace
}  // namespace barnabas::app
