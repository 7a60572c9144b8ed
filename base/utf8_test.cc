#include "base/utf8.h"

#include <gtest/gtest.h>

namespace barnabas {
namespace {

TEST(Utf8, characters_of_every_length_are_measured) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("\xc3\xa9x"), 2U);
  EXPECT_EQ(utf8_length("\xe2\x82\xacx"), 3U);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80x"), 4U);
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 4U);
}

TEST(Utf8, what_is_no_character_has_no_length) {
  for (const char* text :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xc3(", "\xe2\x82", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_EQ(utf8_length(text), 0U) << text;
}

}  // namespace
}  // namespace barnabas
