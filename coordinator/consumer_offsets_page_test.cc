// Holds docs/formats/consumer-offsets.md against the code.

#include <gtest/gtest.h>

#include <sstream>

#include "coordinator/classic_group.h"
#include "coordinator/format_page.h"
#include "coordinator/offset_records.h"
#include "protocol/messages/group_metadata_key.h"
#include "protocol/registry.h"

namespace barnabas::coordinator {
namespace {

constexpr const char* page_name = "consumer-offsets.md";

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> result;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const auto from = cell.find_first_not_of(' ');
    result.push_back(from == std::string::npos ? ""
                                               : cell.substr(from, cell.find_last_not_of(' ') + 1 - from));
  }
  return result;
}

/// Rows of tables whose first cell is a number.
std::vector<std::vector<std::string>> record_types() {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : testing::lines_of_page(page_name))
    if (line.starts_with("| ") && std::isdigit(static_cast<unsigned char>(line[2])))
      rows.push_back(cells(line));
  return rows;
}

std::string versions_of(const protocol::MessageInfo& info) {
  const std::string first = std::to_string(info.min_version);
  return info.min_version == info.max_version ? first : first + "–" + std::to_string(info.max_version);
}

TEST(ConsumerOffsetsPage, has_the_record_types_and_versions_of_the_schemas) {
  const auto rows = record_types();
  EXPECT_EQ(rows.size(), 10u);
  for (const auto& row : rows) {
    const auto* key = protocol::find_message(row.at(1) + "Key");
    const auto* value = protocol::find_message(row.at(1) + "Value");
    ASSERT_TRUE(key != nullptr && value != nullptr) << row.at(1);
    EXPECT_EQ(std::to_string(*key->record_type), row.at(0));
    EXPECT_EQ(versions_of(*key), "0");
    EXPECT_EQ(versions_of(*value), row.at(3)) << row.at(1);
  }
}

TEST(ConsumerOffsetsPage, offsets_in_hex_are_read_and_written_so) {
  const auto lines = testing::example_of_page(page_name);
  ASSERT_EQ(lines.size(), 6u);
  const auto check = [&](std::size_t at, std::string_view group, int64_t offset) {
    const auto key = decode_offset_key(lines[at]);
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->group, group);
    const auto value = decode_offset_value(offset_record_type, lines[at + 1], Offset{0});
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(value->offset, offset);
    EXPECT_EQ(offset_record(*key, *value), (Record{lines[at], lines[at + 1]}));
    EXPECT_EQ(offset_tombstone(*key), (Record{lines[at], std::nullopt}));
  };
  check(0, "g", 42);
  check(2, "go", 7);
}

TEST(ConsumerOffsetsPage, the_classic_group_in_hex_is_read_and_written_so) {
  const auto lines = testing::example_of_page(page_name);
  ASSERT_EQ(lines.size(), 6u);
  const auto key = protocol::decode_coordinator_key<protocol::GroupMetadataKey>(lines[4]);
  const auto value = protocol::decode_coordinator_value<protocol::GroupMetadataValue>(lines[5]);
  ASSERT_TRUE(key && value);
  const auto group = ClassicGroup::from_record(key->group.str(), *value);
  EXPECT_EQ(group->members().size(), 1u);
  EXPECT_EQ(group->record(), (Record{lines[4], lines[5]}));
}

// Versions of old brokers.

TEST(OffsetRecords, of_every_version_are_read) {
  const std::string key =
      "000100016700027431"
      "00000002";
  const std::vector<std::pair<std::string, int32_t>> values = {
      {"0000"
       "0000000000000005"
       "00016d"
       "0000000000000064",
       -1},
      {"0001"
       "0000000000000005"
       "00016d"
       "0000000000000064"
       "00000000000000c8",
       -1},
      {"0002"
       "0000000000000005"
       "00016d"
       "0000000000000064",
       -1},
      {"0003"
       "0000000000000005"
       "00000009"
       "00016d"
       "0000000000000064",
       9},
      {"0004"
       "0000000000000005"
       "00000009"
       "026d"
       "0000000000000064"
       "00",
       9},
  };
  const auto bytes = [](const std::string& digits) {
    std::vector<std::byte> result;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      result.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    return result;
  };
  for (const auto& [digits, epoch] : values) {
    const auto content = bytes(digits);
    const auto value = decode_offset_value(offset_record_type, content, Offset{77});
    ASSERT_TRUE(value) << digits;
    EXPECT_EQ(value->offset, 5);
    EXPECT_EQ(value->metadata, "m");
    EXPECT_EQ(value->committed_at, TimestampMs{100});
    EXPECT_EQ(value->leader_epoch, LeaderEpoch{epoch});
    EXPECT_EQ(value->expires_at, digits[3] == '1' ? TimestampMs{200} : no_timestamp);
    EXPECT_EQ(value->topic_id, Uuid{});
    EXPECT_EQ(value->record_offset, Offset{77});
    for (std::size_t size = 0; size < content.size(); ++size)
      EXPECT_FALSE(decode_offset_value(offset_record_type, ByteView(content).first(size), {})) << size;
  }
  const auto legacy = bytes("0000" + key.substr(4));
  EXPECT_EQ(decode_offset_key(legacy)->partition, 2);
  EXPECT_EQ(decode_offset_value(legacy_offset_record_type, bytes(values[0].first), {})->offset, 5);
  EXPECT_FALSE(
      decode_offset_key(bytes("0002"
                              "000167")));
  EXPECT_FALSE(decode_offset_value(offset_record_type,
                                   bytes("0005"
                                         "0000000000000005"),
                                   {}));
}

}  // namespace
}  // namespace barnabas::coordinator
