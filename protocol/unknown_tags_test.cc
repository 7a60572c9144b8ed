#include "protocol/unknown_tags.h"

#include <gtest/gtest.h>

#include <utility>

namespace barnabas::protocol {
namespace {

TEST(UnknownTags, cost_one_pointer_when_there_are_none) {
  EXPECT_EQ(sizeof(UnknownTags), sizeof(void*));
  EXPECT_TRUE(UnknownTags().empty());
}

TEST(UnknownTags, stay_in_order_each_tag_once) {
  UnknownTags tags;
  tags.set(9, Bytes::of_text("nine"));
  tags.set(2, Bytes::of_text("two"));
  tags.set(9, Bytes::of_text("other"));
  ASSERT_EQ(tags.size(), 2u);
  EXPECT_EQ(tags.all()[0].tag, 2u);
  EXPECT_EQ(tags.all()[1].content, Bytes::of_text("other"));
}

TEST(UnknownTags, are_copied_deeply) {
  UnknownTags tags;
  tags.set(1, Bytes::of_text("one"));
  UnknownTags copy = tags;
  EXPECT_EQ(copy, tags);
  copy.set(1, Bytes::of_text("two"));
  EXPECT_FALSE(copy == tags);
  copy = UnknownTags();
  EXPECT_EQ(copy, UnknownTags());
}

}  // namespace
}  // namespace barnabas::protocol
