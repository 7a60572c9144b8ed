#include "metadata/topic_name.h"

#include <gtest/gtest.h>

namespace barnabas::metadata {
namespace {

TEST(TopicName, legal_names_have_no_problem) {
  for (const char* name : {"a", "A.b_c-9", "...", "__consumer_offsets", "-", "_"}) {
    EXPECT_EQ(topic_name_problem(name), std::nullopt) << name;
  }
  EXPECT_EQ(topic_name_problem(std::string(249, 'x')), std::nullopt);
}

TEST(TopicName, problems_are_told_in_kafkas_words) {
  EXPECT_EQ(topic_name_problem(""), "Topic name is invalid: the empty string is not allowed");
  EXPECT_EQ(topic_name_problem("."), "Topic name is invalid: '.' is not allowed");
  EXPECT_EQ(topic_name_problem(".."), "Topic name is invalid: '..' is not allowed");
  const std::string other =
      "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'";
  for (const std::string& name :
       {std::string("a b"), std::string("a/b"), std::string("\u00e4"), std::string("a\0", 2)}) {
    EXPECT_EQ(topic_name_problem(name), "Topic name is invalid: '" + name + other);
  }
  const std::string longest(250, 'x');
  EXPECT_EQ(topic_name_problem(longest), "Topic name is invalid: the length of '" + longest +
                                             "' is longer than the max allowed length 249");
}

TEST(TopicName, a_point_and_an_underscore_collide) {
  EXPECT_EQ(normalized_topic_name("a.b.c"), normalized_topic_name("a_b.c"));
  EXPECT_TRUE(has_collision_character("a.b"));
  EXPECT_FALSE(has_collision_character("a-b"));
}

}  // namespace
}  // namespace barnabas::metadata
