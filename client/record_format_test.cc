#include "client/record_format.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "client/byte_input.h"
#include "client/offsets.h"
#include "client/start_place.h"

namespace barnabas::client {
namespace {

std::string print(std::string_view format, const RecordView& record, std::string_view null = "") {
  const auto parsed = RecordFormat::parse(format);
  EXPECT_TRUE(parsed) << parsed.error().message;
  std::string out;
  parsed->print(record, null, out);
  return out;
}

Result<RecordReader> reader(std::string_view format) {
  BARNABAS_ASSIGN(const RecordFormat parsed, RecordFormat::parse(format));
  return RecordReader::create(parsed);
}

TEST(RecordFormat, every_field_and_escape_is_printed) {
  RecordView record{.topic = "t",
                    .partition = 3,
                    .offset = 17,
                    .timestamp_ms = 1'700'000'000'123,
                    .key = "k",
                    .value = "value",
                    .headers = {{"a", "1"}, {"b", std::nullopt}}};
  EXPECT_EQ(
      print("%t/%p@%o %T %d %k=%v=%s %K,%V,%S [%h] %%\\n\\t\\\\\\x41\\0", record, "-"),
      std::string("t/3@17 1700000000123 2023-11-14T22:13:20.123Z k=value=value 1,5,5 [a=1,b=-] %\n\t\\A") +
          '\0');
  record.key = std::nullopt;
  EXPECT_EQ(print("%k|%K", record, "NULL"), "NULL|-1");
}

TEST(RecordFormat, what_makes_no_sense_is_refused_with_its_place) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"ab%y", "character 3"}, {"%", "character 1"}, {"a\\q", "character 2"}, {"\\x4", "hexadecimal"}}) {
    const auto parsed = RecordFormat::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find(words), std::string::npos) << parsed.error().message;
  }
  for (const char* text : {"%v", "", "\\n", "%k%v\\n", "%o\\n"}) EXPECT_FALSE(reader(text)) << text;
}

TEST(RecordReader, a_record_is_cut_at_what_stands_between_the_fields) {
  const auto found = reader("%k\\t%h\\t%v\\n");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->end(), "\n");
  const auto input = found->read("key\ta=1,b=2\tvalue\twith a tab", false);
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->key, "key");
  EXPECT_EQ(input->headers, (std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(input->value, "value\twith a tab");
  EXPECT_FALSE(found->read("key only", false));
}

TEST(RecordReader, a_key_may_miss_where_that_is_asked_for) {
  const auto found = reader("%k:%v\\n");
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->read("value", false));
  const auto input = found->read("value", true);
  ASSERT_TRUE(input);
  EXPECT_EQ(input->key, std::nullopt);
  EXPECT_EQ(input->value, "value");
  EXPECT_EQ(found->read(":value", true)->key, "");
}

TEST(RecordReader, literals_around_the_fields_have_to_be_there) {
  const auto found = reader("<%v>\\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->end(), ">\n");
  EXPECT_EQ(found->read("<a", false).value_or(RecordReader::Input{}).value, "a");
  EXPECT_FALSE(found->read("a", false));
}

class ByteInputTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  void TearDown() override {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  void write(std::string_view text) {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() { ::close(std::exchange(ends_[1], -1)); }
  std::string next(ByteInput& input, ByteInput::State expected) {
    std::string_view piece;
    const auto state = input.next(piece, 0);
    EXPECT_TRUE(state);
    EXPECT_EQ(state.value_or(ByteInput::State::waiting), expected);
    return std::string(piece);
  }
  int ends_[2] = {-1, -1};
};

TEST_F(ByteInputTest, pieces_come_as_they_are_whole) {
  using State = ByteInput::State;
  ByteInput input(ends_[0], "--", 100);
  write("one--tw");
  EXPECT_EQ(next(input, State::piece), "one");
  next(input, State::waiting);
  write("o-");
  next(input, State::waiting);
  write("---last");
  EXPECT_EQ(next(input, State::piece), "two");
  EXPECT_EQ(next(input, State::piece), "");
  end();
  EXPECT_EQ(next(input, State::piece), "last");
  next(input, State::end);
}

TEST_F(ByteInputTest, a_piece_without_an_end_is_not_kept_without_bound) {
  ByteInput input(ends_[0], "\n", 10);
  write("more than ten bytes");
  std::string_view piece;
  EXPECT_FALSE(input.next(piece, 0));
}

TEST(StartPlace, places_are_read_and_kept_within_the_log) {
  const auto offset = [](std::string_view text, int64_t at_time = -1) {
    const auto place = parse_start_place(text, 0);
    EXPECT_TRUE(place) << text;
    return place ? offset_of(*place, 10, 20, at_time) : -1;
  };
  EXPECT_EQ(offset("start"), 10);
  EXPECT_EQ(offset("end"), 20);
  EXPECT_EQ(offset("15"), 15);
  EXPECT_EQ(offset("5"), 10);
  EXPECT_EQ(offset("99"), 20);
  EXPECT_EQ(offset("+3"), 13);
  EXPECT_EQ(offset("+99"), 20);
  EXPECT_EQ(offset("-3"), 17);
  EXPECT_EQ(offset("-99"), 10);
  EXPECT_EQ(offset("+9223372036854775807"), 20);
  EXPECT_EQ(offset("-9223372036854775807"), 10);
  EXPECT_EQ(offset("@0", 12), 12);
  EXPECT_EQ(offset("@0"), 20) << "nothing is that young";
  for (const char* text : {"", "here", "+", "--1", "1x", "@", "@noon"})
    EXPECT_FALSE(parse_start_place(text, 0)) << text;
}

TEST(Times, times_are_read_in_each_form) {
  constexpr int64_t now = 1'700'000'000'000;
  const auto is = [&](std::string_view text, int64_t expected) {
    const auto time = parse_time(text, now);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(*time, expected) << text;
  };
  is("1700000000000", 1'700'000'000'000);
  is("1700000000", 1'700'000'000'000);
  is("2023-11-14", 1'699'920'000'000);
  is("2023-11-14T22:13:20Z", 1'700'000'000'000);
  is("2023-11-14T22:13:20.5Z", 1'700'000'000'500);
  is("-1h", now - 3'600'000);
  is("-250ms", now - 250);
  is("-2d", now - 172'800'000);
  for (const char* text : {"", "yesterday", "-1", "-1w", "2023-13-01", "2023-02-30", "2023-11-14T25:00:00Z",
                           "2023-11-14T22:13:20.Z", "2023-11-14 22:13:20", "-99999999999999999999h"})
    EXPECT_FALSE(parse_time(text, now)) << text;
  EXPECT_EQ(time_text(1'700'000'000'001), "2023-11-14T22:13:20.001Z");
}

TEST(RecordFormat, what_is_escaped_can_be_read_back) {
  const std::string text("a\t\n\r\\\0\x01\x7f b", 10);
  EXPECT_EQ(escape(text), "a\\t\\n\\r\\\\\\0\\x01\\x7f b");
  EXPECT_EQ(*unescape(escape(text)), text);
}

}  // namespace
}  // namespace barnabas::client
