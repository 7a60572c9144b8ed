// Holds docs/formats/record-batch.md against the code.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "protocol/records/record_batch.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"
#include "protocol/records/test_support.h"

namespace barnabas::protocol {
namespace {

using namespace batch_format;

std::vector<std::string> page() {
  std::ifstream in(BARNABAS_SOURCE_DIR "/docs/formats/record-batch.md");
  EXPECT_TRUE(in.is_open());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> result;
  std::istringstream in(row);
  for (std::string cell; std::getline(in, cell, '|');) {
    const size_t from = cell.find_first_not_of(' ');
    result.push_back(from == std::string::npos ? ""
                                               : cell.substr(from, cell.find_last_not_of(' ') + 1 - from));
  }
  return result;
}

struct HexLine {
  test::Bytes bytes;
  std::string text;
};

std::vector<HexLine> hex_block() {
  std::vector<HexLine> lines;
  bool inside = false;
  for (const std::string& line : page()) {
    if (line.starts_with("```")) {
      inside = line == "```hex";
    } else if (inside) {
      const size_t end = line.find(' ');
      lines.push_back({test::from_hex(line.substr(0, end)), line.substr(line.find_first_not_of(' ', end))});
    }
  }
  return lines;
}

const std::map<std::string, size_t> positions = {{"base offset", base_offset_at},
                                                 {"length", length_at},
                                                 {"partition leader epoch", partition_leader_epoch_at},
                                                 {"magic", magic_at},
                                                 {"crc", crc_at},
                                                 {"attributes", attributes_at},
                                                 {"last offset delta", last_offset_delta_at},
                                                 {"base timestamp", base_timestamp_at},
                                                 {"max timestamp", max_timestamp_at},
                                                 {"producer id", producer_id_at},
                                                 {"producer epoch", producer_epoch_at},
                                                 {"base sequence", base_sequence_at},
                                                 {"record count", record_count_at},
                                                 {"records", records_at}};

TEST(RecordBatchPage, the_field_table_is_that_of_the_code) {
  size_t rows = 0, next = 0;
  for (const std::string& line : page()) {
    if (!line.starts_with("| ") || !std::isdigit(static_cast<unsigned char>(line[2]))) continue;
    const auto row = cells(line);  // the first cell is empty
    ASSERT_GE(row.size(), 6U);
    ASSERT_TRUE(positions.contains(row[4])) << row[4];
    EXPECT_EQ(std::stoul(row[1]), positions.at(row[4])) << row[4];
    EXPECT_EQ(std::stoul(row[1]), next) << row[4];
    EXPECT_EQ(row[5] == "yes", std::stoul(row[1]) >= crc_from) << row[4];
    if (!row[2].empty()) next = std::stoul(row[1]) + std::stoul(row[2]);
    ++rows;
  }
  EXPECT_EQ(rows, positions.size());
}

TEST(RecordBatchPage, the_example_is_what_its_annotations_say) {
  const auto lines = hex_block();
  test::Bytes bytes;
  std::map<std::string, std::string> header;
  for (const HexLine& line : lines) {
    for (const auto& [name, at] : positions) {
      if (bytes.size() >= records_at || !line.text.starts_with(name + " ")) continue;
      EXPECT_EQ(bytes.size(), at) << line.text;
      header[name] = line.text.substr(name.size() + 1);
    }
    bytes.insert(bytes.end(), line.bytes.begin(), line.bytes.end());
  }
  const auto batch = validate_stored_batch(bytes);
  ASSERT_TRUE(batch.has_value()) << batch.error().message;
  ASSERT_EQ(batch->size_bytes(), bytes.size());
  EXPECT_EQ(std::to_string(batch->base_offset().value()), header["base offset"]);
  EXPECT_EQ(std::to_string(batch->header().length), header["length"]);
  EXPECT_EQ(std::to_string(batch->partition_leader_epoch().value()), header["partition leader epoch"]);
  EXPECT_EQ(std::to_string(batch->crc()), header["crc"]);
  EXPECT_EQ(std::to_string(batch->last_offset_delta()), header["last offset delta"]);
  EXPECT_EQ(std::to_string(batch->base_timestamp().value()), header["base timestamp"]);
  EXPECT_EQ(std::to_string(batch->max_timestamp().value()), header["max timestamp"]);
  EXPECT_EQ(std::to_string(batch->producer_id().value()), header["producer id"]);
  EXPECT_EQ(std::to_string(batch->producer_epoch().value()), header["producer epoch"]);
  EXPECT_EQ(std::to_string(batch->base_sequence()), header["base sequence"]);
  EXPECT_EQ(std::to_string(batch->record_count()), header["record count"]);
}

TEST(RecordBatchPage, the_example_is_built_byte_for_byte) {
  RecordBatchBuilder builder({.base_offset = Offset{41},
                              .partition_leader_epoch = LeaderEpoch{3},
                              .producer_id = ProducerId{4000},
                              .producer_epoch = ProducerEpoch{7},
                              .base_sequence = 12});
  const RecordHeader header{"v", as_byte_view("1")};
  builder.append(TimestampMs{1700000000000}, as_byte_view("city"), as_byte_view("Ulm"),
                 std::span(&header, 1));
  builder.append(TimestampMs{1700000000250}, as_byte_view("city"), std::nullopt);
  test::Bytes page_bytes;
  for (const HexLine& line : hex_block())
    page_bytes.insert(page_bytes.end(), line.bytes.begin(), line.bytes.end());
  EXPECT_EQ(test::to_hex(builder.build()), test::to_hex(page_bytes));
}

}  // namespace
}  // namespace barnabas::protocol
