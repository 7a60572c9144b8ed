// Golden bytes of every message and version, written by Kafka 4.4 (protocol/vectors/messages).
#include <gtest/gtest.h>

#include "protocol/coordinator_record.h"
#include "protocol/json_printer.h"
#include "protocol/messages/group_metadata_value.h"
#include "protocol/messages/offset_commit_key.h"
#include "protocol/metadata_record.h"
#include "protocol/registry.h"
#include "protocol/vectors.h"

namespace barnabas::protocol {
namespace {

using testing::from_hex;
using testing::to_hex;

struct Vector {
  int16_t version;
  std::string variant;
  std::vector<std::byte> bytes;
  std::vector<std::byte> framed;  // empty when the message is never framed
  nlohmann::json json;
};

std::vector<Vector> vectors_of(std::string_view message) {
  std::vector<Vector> vectors;
  for (const auto& line : testing::read_vectors("messages/" + std::string(message) + ".jsonl")) {
    vectors.push_back({line["version"].get<int16_t>(), line["variant"],
                       from_hex(line["hex"].get<std::string>()), from_hex(line.value("framedHex", "")),
                       line["json"]});
  }
  return vectors;
}

class MessageVectors : public ::testing::TestWithParam<MessageInfo> {
 protected:
  const MessageInfo& message = GetParam();
  std::vector<Vector> vectors = vectors_of(message.name);

  static std::string place(const Vector& each) {
    return "version " + std::to_string(each.version) + " " + each.variant;
  }
};

TEST_P(MessageVectors, cover_every_version) {
  for (int16_t version = message.min_version; version <= message.max_version; ++version) {
    EXPECT_TRUE(std::ranges::any_of(vectors, [&](const Vector& each) { return each.version == version; }))
        << version;
  }
}

TEST_P(MessageVectors, decode_to_the_same_values_and_encode_to_the_same_bytes) {
  for (const Vector& each : vectors) {
    SCOPED_TRACE(place(each));
    Reader reader(each.bytes);
    const auto decoded = message.decode(reader, each.version);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(reader.remaining(), 0u);
    EXPECT_EQ(testing::json_difference((*decoded)->to_json(each.version), each.json), "");

    Writer writer;
    (*decoded)->encode(writer, each.version);
    const auto written = writer.take();
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(to_hex(written->bytes()), to_hex(each.bytes));
    EXPECT_EQ(written->size(), each.bytes.size());

    Reader again_reader(each.bytes);
    const auto again = message.decode(again_reader, each.version);
    ASSERT_TRUE(again);
    EXPECT_TRUE((*decoded)->equals(**again));
  }
}

TEST_P(MessageVectors, are_refused_when_cut_anywhere) {
  for (const Vector& each : vectors) {
    SCOPED_TRACE(place(each));
    for (std::size_t size = 0; size < each.bytes.size(); ++size) {
      // A buffer of its own, so that a sanitizer sees a read behind it.
      const std::vector<std::byte> prefix(each.bytes.begin(),
                                          each.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      Reader reader(prefix);
      const auto decoded = message.decode(reader, each.version);
      ASSERT_FALSE(decoded) << "cut to " << size << " bytes";
      EXPECT_EQ(decoded.error().kind, ErrorKind::corrupt);
    }
  }
}

TEST_P(MessageVectors, stand_in_logs_with_their_type_or_version_in_front) {
  for (const Vector& each : vectors) {
    if (each.framed.empty()) continue;
    SCOPED_TRACE(place(each));
    Writer writer;
    switch (message.kind) {
      case MessageKind::metadata_record: {
        const auto record = decode_metadata_record(each.framed);
        ASSERT_TRUE(record) << record.error().message;
        const std::string json =
            std::visit([&](const auto& value) { return to_json(value, each.version); }, *record);
        EXPECT_EQ(testing::json_difference(json, each.json), "");
        encode_metadata_record(writer, *record, each.version);
        break;
      }
      case MessageKind::remote_log_record:
        writer.uvarint(metadata_frame_version);
        writer.uvarint(static_cast<uint32_t>(message.record_type.value()));
        writer.uvarint(static_cast<uint32_t>(each.version));
        writer.raw(each.bytes);
        break;
      case MessageKind::coordinator_key:
        writer.int16(message.record_type.value());
        writer.raw(each.bytes);
        break;
      default:
        writer.int16(each.version);
        writer.raw(each.bytes);
    }
    EXPECT_EQ(to_hex(writer.bytes()), to_hex(each.framed));
  }
}

TEST_P(MessageVectors, are_refused_at_versions_that_do_not_exist) {
  for (const int version : {message.min_version - 1, message.max_version + 1}) {
    Reader reader(vectors.front().bytes);
    const auto decoded = message.decode(reader, static_cast<int16_t>(version));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().kind, ErrorKind::unsupported);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, MessageVectors,
                         ::testing::ValuesIn(all_messages().begin(), all_messages().end()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(CoordinatorRecords, are_framed_both_ways) {
  for (const Vector& each : vectors_of("OffsetCommitKey")) {
    const auto key = decode_coordinator_key<OffsetCommitKey>(each.framed);
    ASSERT_TRUE(key) << key.error().message;
    Writer writer;
    encode_coordinator_key(writer, *key);
    EXPECT_EQ(to_hex(writer.bytes()), to_hex(each.framed));
  }
  for (const Vector& each : vectors_of("GroupMetadataValue")) {
    const auto value = decode_coordinator_value<GroupMetadataValue>(each.framed);
    ASSERT_TRUE(value) << value.error().message;
    Writer writer;
    encode_coordinator_value(writer, *value, each.version);
    EXPECT_EQ(to_hex(writer.bytes()), to_hex(each.framed));
  }
}

TEST(CoordinatorRecords, of_another_type_are_refused) {
  const auto key = decode_coordinator_key<OffsetCommitKey>(from_hex("0002000167"));
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().kind, ErrorKind::corrupt);
}

TEST(MetadataRecords, with_an_unknown_frame_type_or_version_are_unsupported) {
  for (const char* hex : {"000200", "020200", "011e00", "011600ff", "010204"}) {
    const auto record = decode_metadata_record(from_hex(hex));
    ASSERT_FALSE(record) << hex;
  }
  EXPECT_EQ(decode_metadata_record(from_hex("011e00")).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(decode_metadata_record(from_hex("010204")).error().kind, ErrorKind::unsupported);
}

TEST(MetadataRecords, with_bytes_behind_them_are_corrupt) {
  EXPECT_TRUE(decode_metadata_record(from_hex("01140000")));
  const auto record = decode_metadata_record(from_hex("0114000000"));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().kind, ErrorKind::corrupt);
}

}  // namespace
}  // namespace barnabas::protocol
