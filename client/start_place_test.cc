#include "client/start_place.h"

#include <gtest/gtest.h>

namespace barnabas::client {
namespace {

constexpr int64_t now = 1'700'000'000'000;
constexpr int64_t start = 10;
constexpr int64_t end = 20;

StartPlace place(const char* text) {
  const auto parsed = parse_place_or_time(text, now);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(StartPlace{});
}

int64_t resolved(const char* text, int64_t at_time = -1) {
  return offset_of(place(text), start, end, at_time);
}

TEST(StartPlace, words_offsets_and_distances_are_places) {
  EXPECT_EQ(resolved("start"), 10);
  EXPECT_EQ(resolved("end"), 20);
  EXPECT_EQ(resolved("15"), 15);
  EXPECT_EQ(resolved("+5"), 15);
  EXPECT_EQ(resolved("-3"), 17);
}

TEST(StartPlace, times_are_places_with_an_at_or_without) {
  for (const char* text : {"@1700000000000", "@-1h", "-1h", "2026-11-30T10:00:00Z", "2026-11-30"}) {
    EXPECT_EQ(place(text).kind, StartPlace::Kind::time) << text;
    EXPECT_EQ(resolved(text, 12), 12) << text;
    EXPECT_EQ(resolved(text, -1), end) << text;
  }
  EXPECT_EQ(place("-1h").number, now - 3'600'000);
  EXPECT_FALSE(parse_start_place("-1h", now));
}

TEST(StartPlace, an_offset_outside_of_what_is_there_is_known_as_such) {
  for (const char* text : {"9", "21", "999999999", "+11", "-11"})
    EXPECT_TRUE(is_outside(place(text), start, end)) << text;
  for (const char* text : {"10", "20", "+10", "-10", "start", "end", "-1h"})
    EXPECT_FALSE(is_outside(place(text), start, end)) << text;
}

TEST(StartPlace, what_is_none_is_told_what_is) {
  for (const char* text : {"banana", "", "+", "-", "+x", "1.5", "@", "@banana", "2026-13-30"}) {
    const auto parsed = parse_place_or_time(text, now);
    ASSERT_FALSE(parsed) << text;
    for (const char* word : {"start, end", "an offset", "+N", "-N", "a time"})
      EXPECT_NE(parsed.error().message.find(word), std::string::npos) << parsed.error().message;
  }
}

}  // namespace
}  // namespace barnabas::client
