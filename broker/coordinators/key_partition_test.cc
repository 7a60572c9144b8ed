#include "broker/coordinators/key_partition.h"

#include <gtest/gtest.h>

namespace barnabas::broker {
namespace {

// The numbers are what Java prints for new String(bytes, UTF_8).hashCode().
TEST(KeyPartition, hashes_as_java_does) {
  EXPECT_EQ(java_hash(""), 0);
  EXPECT_EQ(java_hash("group"), 98629247);
  EXPECT_EQ(java_hash("a-much-longer-group-id"), 1611410553);
  EXPECT_EQ(java_hash("t\xc3\xa4st"), 3678545);                    // ä
  EXPECT_EQ(java_hash("\xe2\x82\xac"), 0x20ac);                    // €
  EXPECT_EQ(java_hash("\xf0\x9f\x98\x80"), 31 * 0xd83d + 0xde00);  // beyond 16 bits: two units
}

TEST(KeyPartition, bytes_that_are_no_text_count_as_java_replaces_them) {
  constexpr int32_t one = 0xfffd;
  constexpr int32_t two = 31 * one + one;
  EXPECT_EQ(java_hash("\xff"), one);
  EXPECT_EQ(java_hash("\xc3"), one);      // cut
  EXPECT_EQ(java_hash("\xe2\x82"), one);  // the longest beginning counts as one
  EXPECT_EQ(java_hash("\xc0\x80"), two);  // overlong
  EXPECT_EQ(java_hash("\xf0\x9f\x98"), one);
  EXPECT_EQ(java_hash("\xed\xa0\x80"), one);  // a surrogate
}

TEST(KeyPartition, is_the_absolute_value_of_the_hash) {
  EXPECT_EQ(partition_of_key("group", 50), PartitionIndex{98629247 % 50});
  EXPECT_EQ(java_hash("consumers"), -421004483);
  EXPECT_EQ(partition_of_key("consumers", 50), PartitionIndex{421004483 % 50});
  // Its hash is -2^31, which has none.
  EXPECT_EQ(java_hash("polygenelubricants"), INT32_MIN);
  EXPECT_EQ(partition_of_key("polygenelubricants", 50), PartitionIndex{0});
}

}  // namespace
}  // namespace barnabas::broker
