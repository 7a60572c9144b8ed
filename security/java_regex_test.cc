#include "security/java_regex.h"

#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

using Times = JavaRegex::Times;

std::string replaced(std::string_view pattern, std::string_view text, std::string_view by,
                     Times times = Times::all) {
  const auto regex = JavaRegex::compile(pattern);
  if (!regex) return "refused: " + regex.error().message;
  const auto replacement = regex->replacement(by);
  if (!replacement) return "refused: " + replacement.error().message;
  return regex->replace(text, *replacement, times);
}

bool compiles(std::string_view pattern) {
  return JavaRegex::compile(pattern).has_value();
}

TEST(JavaRegex, matches_the_whole_text) {
  const auto regex = JavaRegex::compile("App\\..*");
  ASSERT_TRUE(regex);
  EXPECT_TRUE(regex->matches("App.x"));
  EXPECT_FALSE(regex->matches("xApp.x"));
  EXPECT_FALSE(JavaRegex::compile("a|ab")->matches("abc"));
  EXPECT_TRUE(JavaRegex::compile("a|ab")->matches("ab"));
}

TEST(JavaRegex, groups_stand_in_the_replacement) {
  EXPECT_EQ(replaced("CN=(.*?),.*", "CN=ann,OU=b", "$1"), "ann");
  EXPECT_EQ(replaced("(?<who>[a-z]+)@.*", "ann@HOST", "<${who}>"), "<ann>");
  EXPECT_EQ(replaced("(a)(b)?", "a", "$1$2."), "a.");
  EXPECT_EQ(replaced("b", "abc", "[$0]"), "a[b]c");
}

TEST(JavaRegex, digits_belong_to_a_group_as_long_as_there_is_one) {
  EXPECT_EQ(replaced("(a)", "a", "$12"), "a2");
  EXPECT_EQ(replaced("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)", "abcdefghijkl", "$12-$123"), "l-l3");
}

TEST(JavaRegex, a_backslash_takes_the_next_character_as_it_is) {
  EXPECT_EQ(replaced("a", "a", R"(\$1\\)"), R"($1\)");
}

TEST(JavaRegex, replaces_once_or_everywhere) {
  EXPECT_EQ(replaced("ABC", "ABC_x_ABC", "y", Times::first), "y_x_ABC");
  EXPECT_EQ(replaced("ABC", "ABC_x_ABC", "y"), "y_x_y");
  EXPECT_EQ(replaced("^a", "aaa", "b"), "baa");
  EXPECT_EQ(replaced("none", "text", "x"), "text");
}

// What java.util.regex makes of them.
TEST(JavaRegex, empty_matches_count_as_in_java) {
  EXPECT_EQ(replaced("x*", "abc", "-"), "-a-b-c-");
  EXPECT_EQ(replaced("x*", "xab", "-"), "--a-b-");
  EXPECT_EQ(replaced("", "", "-"), "-");
  EXPECT_EQ(replaced("x*", "\xC3\xA4z", "-"), "-\xC3\xA4-z-");
}

TEST(JavaRegex, refuses_what_re2_would_understand_differently) {
  EXPECT_FALSE(compiles("(?=a)b"));
  EXPECT_FALSE(compiles("(?<!a)b"));
  EXPECT_FALSE(compiles("(a)\\1"));
  EXPECT_FALSE(compiles("a*+"));
  EXPECT_FALSE(compiles("[a-z&&[^b]]"));
  EXPECT_FALSE(compiles("[[:alpha:]]"));
  EXPECT_FALSE(compiles("(a"));
  EXPECT_FALSE(compiles("[a"));
  EXPECT_TRUE(compiles("[\\[a]&&"));
}

TEST(JavaRegex, refuses_replacements_that_java_refuses) {
  const auto regex = JavaRegex::compile("(a)");
  ASSERT_TRUE(regex);
  for (const auto* text : {"$2", "$", "$x", "${b}", "${", "\\", "a$"})
    EXPECT_FALSE(regex->replacement(text)) << text;
}

TEST(JavaRegex, is_bounded_in_pattern_and_groups) {
  EXPECT_FALSE(compiles(std::string(20'000, 'a')));
  EXPECT_FALSE(compiles("((((a{1000}){1000}){1000}){1000})"));
  std::string groups;
  for (int i = 0; i < 33; ++i) groups += "(a)";
  EXPECT_FALSE(compiles(groups));
}

}  // namespace
}  // namespace barnabas::security
