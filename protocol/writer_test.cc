#include "protocol/writer.h"

#include <gtest/gtest.h>

#include <limits>

#include "protocol/messages/fetch_request.h"
#include "protocol/messages/fetch_response.h"
#include "protocol/messages/metadata_request.h"
#include "protocol/messages/produce_request.h"
#include "protocol/reader.h"

namespace barnabas::protocol {
namespace {

struct RegionOfFile : ExternalRecords {
  explicit RegionOfFile(uint64_t bytes) : length(bytes) {}
  uint64_t size() const override { return length; }
  uint64_t length;
};

TEST(Writer, writes_what_a_reader_reads) {
  Writer writer;
  writer.boolean(true);
  writer.int64(std::numeric_limits<int64_t>::min());
  writer.float64(-2.5);
  writer.uvarint(300);
  writer.varint(-70'000);
  writer.varlong(std::numeric_limits<int64_t>::max());
  writer.string("caf\xc3\xa9", true, "a");
  writer.optional_string(std::nullopt, false, true, "b");
  Reader reader(writer.bytes());
  EXPECT_TRUE(reader.boolean());
  EXPECT_EQ(reader.int64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(reader.float64(), -2.5);
  EXPECT_EQ(reader.uvarint(), 300u);
  EXPECT_EQ(reader.varint(), -70'000);
  EXPECT_EQ(reader.varlong(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(reader.string(true, "a"), "caf\xc3\xa9");
  EXPECT_EQ(reader.optional_string(false, true, "b"), std::nullopt);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(Writer, puts_sizes_of_any_length_in_front_of_tagged_fields) {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 16'383u, 16'384u, 3'000'000u}) {
    const std::string content(size, 'x');
    Writer writer;
    writer.int8(7);
    const std::size_t mark = writer.begin_tag(3);
    writer.raw(as_byte_view(content));
    writer.end_tag(mark);
    writer.int8(9);
    Reader reader(writer.bytes());
    EXPECT_EQ(reader.int8(), 7);
    const Reader::Tag tag = reader.tag();
    EXPECT_EQ(tag.tag, 3u);
    EXPECT_EQ(as_text(reader.take(size)), content);
    reader.end_tag(tag);
    EXPECT_EQ(reader.int8(), 9);
    EXPECT_TRUE(reader.ok()) << size;
  }
}

TEST(Writer, refuses_strings_above_32767_bytes) {
  Writer writer;
  writer.string(std::string(32'767, 'a'), false, "a");
  EXPECT_TRUE(writer.ok());
  writer.string(std::string(32'768, 'a'), true, "a");
  ASSERT_FALSE(writer.ok());
  const auto written = writer.take();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::too_large);
}

TEST(Writer, is_empty_after_take) {
  Writer writer;
  writer.int32(1);
  ASSERT_TRUE(writer.take());
  EXPECT_EQ(writer.size(), 0u);
  writer.int8(5);
  const auto again = writer.take();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->size(), 1u);
}

TEST(Encoder, refuses_a_value_that_the_version_cannot_carry) {
  FetchRequest request;
  request.forgotten_topics_data.push_back({.topic = "t"});
  Writer newer;
  request.encode(newer, 7);
  EXPECT_TRUE(newer.ok());
  Writer older;
  request.encode(older, 6);
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(older.error().message, "forgottenTopicsData: not the default, but version 6 cannot carry it");
}

TEST(Encoder, drops_a_value_that_may_be_ignored) {
  FetchRequest request;
  request.rack_id = "r";
  request.session_id = 5;
  Writer writer;
  request.encode(writer, 4);
  EXPECT_TRUE(writer.ok());
}

TEST(Encoder, refuses_null_where_the_version_has_none) {
  MetadataRequest request;
  request.topics = std::nullopt;
  Writer newer;
  request.encode(newer, 1);
  EXPECT_TRUE(newer.ok());
  Writer older;
  request.encode(older, 0);
  EXPECT_FALSE(older.ok());
}

TEST(Encoder, refuses_unknown_tags_in_a_version_without_tags) {
  FetchRequest request;
  request.unknown_tags.set(77, Bytes::of_text("x"));
  Writer older;
  request.encode(older, 11);
  EXPECT_FALSE(older.ok());
}

TEST(Encoder, refuses_an_unknown_tag_that_the_schema_knows) {
  FetchRequest request;
  request.unknown_tags.set(0, Bytes::of_text("x"));
  Writer writer;
  request.encode(writer, 12);
  EXPECT_FALSE(writer.ok());
}

TEST(Encoder, refuses_a_version_that_does_not_exist) {
  Writer writer;
  FetchRequest().encode(writer, FetchRequest::max_version + 1);
  EXPECT_FALSE(writer.ok());
}

TEST(Encoder, counts_external_records_and_says_where_they_belong) {
  FetchResponse response;
  auto& topic = response.responses.emplace_back();
  topic.topic = "t";
  const auto first = std::make_shared<RegionOfFile>(1'000'000);
  const auto empty = std::make_shared<RegionOfFile>(0);
  const auto last = std::make_shared<RegionOfFile>(3);
  topic.partitions = {{.partition_index = 0, .records = Records(first)},
                      {.partition_index = 1, .records = Records(empty)},
                      {.partition_index = 2, .records = Records(Bytes::of_text("in memory"))},
                      {.partition_index = 3, .records = Records(last)}};
  for (const int16_t version : {int16_t{4}, int16_t{12}}) {
    Writer writer;
    response.encode(writer, version);
    EXPECT_EQ(writer.size(), writer.bytes().size() + 1'000'003);
    const auto written = writer.take();
    ASSERT_TRUE(written);
    ASSERT_EQ(written->insertions().size(), 2u);
    EXPECT_EQ(written->insertions()[0].records, first);
    EXPECT_EQ(written->insertions()[1].records, last);

    // With the records in their places the message is read back.
    std::string whole(as_text(written->bytes()));
    whole.insert(written->insertions()[1].position, "end");
    whole.insert(written->insertions()[0].position, std::string(1'000'000, 'x'));
    EXPECT_EQ(whole.size(), written->size());
    Reader reader(as_byte_view(whole));
    const auto decoded = FetchResponse::decode(reader, version);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(reader.remaining(), 0u);
    const auto& partitions = decoded->responses[0].partitions;
    EXPECT_EQ(partitions[0].records.size(), 1'000'000u);
    EXPECT_EQ(partitions[1].records.size(), 0u);
    EXPECT_FALSE(partitions[1].records.is_null());
    EXPECT_EQ(as_text(partitions[2].records.bytes()), "in memory");
    EXPECT_EQ(as_text(partitions[3].records.bytes()), "end");
  }
}

TEST(Decoder, refuses_a_tag_that_belongs_to_later_versions) {
  // Version 14 has no replicaState (tag 1).
  FetchRequest request;
  Writer writer;
  request.encode(writer, 14);
  std::string bytes(as_text(writer.bytes()));
  bytes.back() = 1;
  bytes += std::string("\x01\x01\x00", 3);
  Reader reader(as_byte_view(bytes));
  EXPECT_FALSE(FetchRequest::decode(reader, 14));
}

TEST(Decoder, refuses_a_tagged_field_that_ends_elsewhere_than_its_size_says) {
  FetchRequest request;
  request.cluster_id = "abc";
  Writer writer;
  request.encode(writer, 12);
  std::string bytes(as_text(writer.bytes()));
  const auto size_at = bytes.size() - 5;
  ASSERT_EQ(bytes[size_at], 4);
  bytes[size_at] = 5;
  bytes += '\0';
  Reader reader(as_byte_view(bytes));
  EXPECT_FALSE(FetchRequest::decode(reader, 12));
}

}  // namespace
}  // namespace barnabas::protocol
