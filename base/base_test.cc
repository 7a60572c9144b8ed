#include <gtest/gtest.h>

#include <string_view>

#include "base/crc32c.h"
#include "base/endian.h"
#include "base/types.h"
#include "base/uuid.h"

namespace barnabas {
namespace {

TEST(Crc32c, check_value_of_the_standard) {
  EXPECT_EQ(crc32c(as_byte_view("123456789")), 0xe3069283U);
}

TEST(Crc32c, pieces_give_the_same_as_the_whole) {
  EXPECT_EQ(crc32c_extend(crc32c(as_byte_view("1234")), as_byte_view("56789")), 0xe3069283U);
}

TEST(Uuid, text_form_round_trips) {
  for (int i = 0; i < 100; ++i) {
    const Uuid id = Uuid::random();
    EXPECT_EQ(id.to_string().size(), 22U);
    EXPECT_EQ(Uuid::parse(id.to_string()).value(), id);
  }
}

TEST(Uuid, metadata_topic_has_the_known_text) {
  Uuid id;
  id.bytes[15] = std::byte{1};
  EXPECT_EQ(id.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
}

TEST(Uuid, wrong_text_is_refused) {
  EXPECT_FALSE(Uuid::parse(""));
  EXPECT_FALSE(Uuid::parse("AAAAAAAAAAAAAAAAAAAAA"));
  EXPECT_FALSE(Uuid::parse("AAAAAAAAAAAAAAAAAAAA+Q"));
}

TEST(Endian, integers_round_trip_big_end_first) {
  std::byte bytes[8];
  store_big_endian<int32_t>(bytes, -2);
  EXPECT_EQ(bytes[0], std::byte{0xff});
  EXPECT_EQ(bytes[3], std::byte{0xfe});
  EXPECT_EQ(load_big_endian<int32_t>(bytes), -2);
}

TEST(Strong, sums_and_differences_keep_their_type) {
  const Offset offset{41};
  EXPECT_EQ((offset + 1).value(), 42);
  EXPECT_EQ(Offset{7} - Offset{5}, 2);
  EXPECT_LT(Offset{1}, Offset{2});
}

}  // namespace
}  // namespace barnabas
