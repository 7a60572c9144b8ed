#include "protocol/reader.h"

#include <gtest/gtest.h>

#include <limits>

namespace barnabas::protocol {
namespace {

template <std::size_t size>
ByteView view(const unsigned char (&bytes)[size]) {
  return std::as_bytes(std::span(bytes));
}

TEST(Reader, reads_numbers_in_network_order) {
  const unsigned char bytes[] = {1, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd, 0x80, 0, 0, 0, 0,
                                 0, 0,    0,    0x3f, 0xf8, 0,    0,    0,    0, 0, 0};
  Reader reader(view(bytes));
  EXPECT_TRUE(reader.boolean());
  EXPECT_EQ(reader.int16(), -2);
  EXPECT_EQ(reader.int32(), -3);
  EXPECT_EQ(reader.int64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(reader.float64(), 1.5);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(Reader, keeps_the_first_failure_with_its_place) {
  const unsigned char bytes[] = {0, 0, 5, 1, 2};
  Reader reader(view(bytes));
  reader.int8();
  EXPECT_EQ(reader.string(false, "topic"), "");
  EXPECT_FALSE(reader.ok());
  reader.int64();
  EXPECT_EQ(reader.error().message,
            "topic at byte 3: found 5, expected a length that the rest of the bytes can hold");
  EXPECT_EQ(reader.error().kind, ErrorKind::corrupt);
}

TEST(Reader, gives_zeros_after_a_failure) {
  const unsigned char bytes[] = {1, 2, 3};
  Reader reader(view(bytes));
  EXPECT_EQ(reader.int32(), 0);
  EXPECT_EQ(reader.int8(), 0);
  EXPECT_EQ(reader.uvarint(), 0u);
  EXPECT_EQ(reader.array_count({true, true, 1, "a"}), 0);
  EXPECT_TRUE(reader.take(1).empty());
  EXPECT_EQ(reader.error().message, "end of the bytes at byte 0: found 3, expected 4 bytes more");
}

TEST(Reader, takes_unsigned_varints_of_at_most_5_bytes) {
  const unsigned char largest[] = {0xff, 0xff, 0xff, 0xff, 0x0f};
  EXPECT_EQ(Reader(view(largest)).uvarint(), 0xffffffffu);
  const unsigned char overlong_zero[] = {0x80, 0x00};
  EXPECT_EQ(Reader(view(overlong_zero)).uvarint(), 0u);
  const unsigned char six_bytes[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
  Reader reader(view(six_bytes));
  reader.uvarint();
  EXPECT_FALSE(reader.ok());
}

TEST(Reader, takes_zigzag_varints) {
  const unsigned char bytes[] = {0x01, 0x02, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff,
                                 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  Reader reader(view(bytes));
  EXPECT_EQ(reader.varint(), -1);
  EXPECT_EQ(reader.varint(), 1);
  EXPECT_EQ(reader.varint(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(reader.varlong(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(reader.ok());
}

TEST(Reader, takes_any_negative_length_for_null_where_null_may_be) {
  const unsigned char minus_two[] = {0xff, 0xfe};
  Reader nullable(view(minus_two));
  EXPECT_EQ(nullable.optional_string(false, true, "a"), std::nullopt);
  EXPECT_TRUE(nullable.ok());
  Reader required(view(minus_two));
  required.string(false, "a");
  EXPECT_FALSE(required.ok());
}

TEST(Reader, refuses_strings_above_32767_bytes) {
  std::vector<std::byte> bytes(40'000, std::byte{'a'});
  bytes[0] = std::byte{0x81};  // 32768 + 1
  bytes[1] = std::byte{0x80};
  bytes[2] = std::byte{0x02};
  Reader reader(bytes);
  reader.string(true, "a");
  EXPECT_FALSE(reader.ok());
  bytes[0] = std::byte{0x80};
  Reader shorter(bytes);
  EXPECT_EQ(shorter.string(true, "a").size(), 32'767u);
}

TEST(Reader, passes_on_text_that_is_not_utf8) {
  const unsigned char bytes[] = {0, 2, 0xff, 0xfe};
  Reader reader(view(bytes));
  EXPECT_EQ(reader.string(false, "a"), "\xff\xfe");
  EXPECT_TRUE(reader.ok());
}

TEST(Reader, strings_and_bytes_borrow_from_the_frame) {
  const unsigned char bytes[] = {2, 'a', 2, 'b'};
  Reader reader(view(bytes));
  const String text = reader.string(true, "a");
  EXPECT_FALSE(text.is_owner());
  EXPECT_EQ(static_cast<const void*>(text.data()), bytes + 1);
  EXPECT_FALSE(reader.bytes(true, "b").is_owner());
}

TEST(Reader, refuses_array_counts_that_cannot_be_true) {
  const unsigned char largest[] = {0x7f, 0xff, 0xff, 0xff};
  Reader reader(view(largest));
  EXPECT_EQ(reader.array_count({false, false, 1, "a"}), 0);
  EXPECT_FALSE(reader.ok());

  // Two elements of 4 bytes do not fit into 7 bytes, though 2 is below 7.
  const unsigned char two[] = {3, 0, 0, 0, 0, 0, 0, 0};
  Reader by_size(view(two));
  EXPECT_EQ(by_size.array_count({true, false, 4, "a"}), 0);
  EXPECT_FALSE(by_size.ok());

  std::vector<std::byte> million(1'000'100);
  million[1] = std::byte{0x0f};  // 1000001 = 0x000f4241
  million[2] = std::byte{0x42};
  million[3] = std::byte{0x41};
  Reader above_limit(million);
  EXPECT_EQ(above_limit.array_count({false, false, 1, "a"}), 0);
  million[3] = std::byte{0x40};
  Reader at_limit(million);
  EXPECT_EQ(at_limit.array_count({false, false, 1, "a"}), 1'000'000);
}

TEST(Reader, refuses_a_million_elements_in_several_arrays_as_in_one) {
  std::vector<std::byte> bytes(1'100'000);
  store_big_endian<int32_t>(bytes.data(), 600'000);
  store_big_endian<int32_t>(bytes.data() + 4, 400'001);
  Reader reader(bytes);
  EXPECT_EQ(reader.array_count({false, false, 1, "a"}), 600'000);
  EXPECT_EQ(reader.array_count({false, false, 1, "b"}), 0);
  EXPECT_FALSE(reader.ok());
}

TEST(Reader, keeps_unknown_tags_in_order_and_the_last_of_equal_ones) {
  const unsigned char bytes[] = {3, 9, 1, 'x', 5, 0, 9, 1, 'y'};
  Reader reader(view(bytes));
  UnknownTags tags;
  reader.unknown_tags(tags);
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ(tags.size(), 2u);
  EXPECT_EQ(tags.all()[0].tag, 5u);
  EXPECT_EQ(as_text(tags.all()[1].content), "y");
}

TEST(Reader, refuses_tag_sections_that_cannot_be_true) {
  const unsigned char too_many[] = {5, 5, 0};
  const unsigned char too_long[] = {1, 5, 9, 0};
  for (const ByteView bytes : {view(too_many), view(too_long)}) {
    Reader reader(bytes);
    UnknownTags tags;
    reader.unknown_tags(tags);
    EXPECT_FALSE(reader.ok());
  }
  std::vector<std::byte> many(100'000);
  many[0] = std::byte{0x91};  // 10001
  many[1] = std::byte{0x4e};
  Reader reader(many);
  UnknownTags tags;
  reader.unknown_tags(tags);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace barnabas::protocol
