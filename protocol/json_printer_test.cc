#include "protocol/json_printer.h"

#include <gtest/gtest.h>

#include <limits>

#include "protocol/messages/topic_record.h"

namespace barnabas::protocol {
namespace {

template <class T>
std::string printed(const T& value) {
  std::string text;
  JsonPrinter(text).value(value);
  return text;
}

TEST(JsonPrinter, prints_each_type) {
  EXPECT_EQ(printed(true), "true");
  EXPECT_EQ(printed(int8_t{-5}), "-5");
  EXPECT_EQ(printed(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(printed(1.5), "1.5");
  EXPECT_EQ(printed(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(printed(Uuid()), "\"AAAAAAAAAAAAAAAAAAAAAA\"");
  EXPECT_EQ(printed(Bytes::of_text("abcd")), "\"YWJjZA==\"");
  EXPECT_EQ(printed(Records()), "null");
  EXPECT_EQ(printed(std::optional<String>()), "null");
  EXPECT_EQ(printed(std::vector<int32_t>{1, 2}), "[1,2]");
}

TEST(JsonPrinter, escapes_text) {
  EXPECT_EQ(printed(String("a\"b\\c\n\x01")), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(printed(String("\xc3\xa9\xe2\x98\x83\xf0\x9d\x84\x9e")),
            "\"\xc3\xa9\xe2\x98\x83\xf0\x9d\x84\x9e\"");
}

TEST(JsonPrinter, replaces_what_is_not_utf8) {
  for (const char* bad : {"\xff", "\xc0", "\xc3", "\x80"}) EXPECT_EQ(printed(String(bad)), "\"\\ufffd\"");
  EXPECT_EQ(printed(String("\xed\xa0\x80")), "\"\\ufffd\\ufffd\\ufffd\"");             // a surrogate
  EXPECT_EQ(printed(String("\xe0\x80\x80")), "\"\\ufffd\\ufffd\\ufffd\"");             // overlong
  EXPECT_EQ(printed(String("\xf4\x90\x80\x80")), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");  // above U+10FFFF
}

TEST(JsonPrinter, prints_messages_with_the_names_of_the_schema) {
  TopicRecord record{.name = "t"};
  record.unknown_tags.set(3, Bytes::of_text("\x01\xff"));
  EXPECT_EQ(to_json(record, 0),
            R"({"name":"t","topicId":"AAAAAAAAAAAAAAAAAAAAAA","_unknownTags":{"3":"01ff"}})");
}

}  // namespace
}  // namespace barnabas::protocol
