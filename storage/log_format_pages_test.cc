// Holds the pages of docs/formats about a partition's files against the code, and against what Apache Kafka
// wrote.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "storage/log_fixture.h"
#include "storage/producer_snapshot.h"
#include "storage/sorted_index.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {
namespace {

std::string page(const std::string& name) {
  std::ifstream in(BARNABAS_SOURCE_DIR "/docs/formats/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

/// The text of the first block that begins with ``` and `kind`.
std::string block(const std::string& text, const std::string& kind) {
  const std::string fence = "```" + kind + "\n";
  const std::size_t begin = text.find(fence);
  EXPECT_NE(begin, std::string::npos) << kind;
  return text.substr(begin + fence.size(), text.find("```", begin + fence.size()) - begin - fence.size());
}

/// Bytes of an annotated block: hex digits up to two spaces, then words.
std::string bytes_of(const std::string& name) {
  std::string bytes;
  std::istringstream lines(block(page(name), "hex"));
  for (std::string line; std::getline(lines, line);) {
    std::string digits = line.substr(0, line.find("  "));
    std::erase(digits, ' ');
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string kafkas(const std::string& file) {
  std::ifstream lines(BARNABAS_SOURCE_DIR "/storage/testdata/log_dir.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto item = nlohmann::json::parse(line);
    if (item.at("path") != "segment-sample-0/" + file) continue;
    if (item.contains("text")) return item.at("text");
    std::string bytes;
    const std::string hex = item.at("hex");
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
  }
  ADD_FAILURE() << file;
  return {};
}

/// Rows "| offset | size | …" of the tables under a heading must follow on each other up to `size`.
void expect_rows_fill(const std::string& text, const std::string& first_field, std::size_t size) {
  std::size_t at = 0;
  bool inside = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && at < size;) {
    std::istringstream cells(line);
    std::string bar, offset, bytes;
    if (!std::getline(cells, bar, '|') || !std::getline(cells, offset, '|') ||
        !std::getline(cells, bytes, '|'))
      continue;
    if (line.find("| " + first_field + " |") != std::string::npos) inside = true;
    if (!inside || offset.find_first_of("0123456789") == std::string::npos) continue;
    EXPECT_EQ(std::stoul(offset), at) << line;
    at += std::stoul(bytes);
  }
  EXPECT_EQ(at, size) << first_field;
}

TEST(LogFormatPages, offset_index_is_as_described) {
  const std::string bytes = bytes_of("offset-index.md");
  EXPECT_EQ(bytes, kafkas("00000000000000000000.index"));
  EXPECT_EQ(OffsetIndexEntry::load(as_byte_view(bytes).data()), (OffsetIndexEntry{3, 270}));
  expect_rows_fill(page("offset-index.md"), "relative offset", OffsetIndexEntry::size_bytes);
}

TEST(LogFormatPages, time_index_is_as_described) {
  const std::string bytes = bytes_of("time-index.md");
  EXPECT_EQ(bytes, kafkas("00000000000000000000.timeindex"));
  EXPECT_EQ(TimeIndexEntry::load(as_byte_view(bytes).data()),
            (TimeIndexEntry{TimestampMs{1'700'000'000'030}, 3}));
  expect_rows_fill(page("time-index.md"), "timestamp", TimeIndexEntry::size_bytes);
}

TEST(LogFormatPages, transaction_index_is_as_described) {
  const std::string bytes = bytes_of("transaction-index.md");
  EXPECT_EQ(bytes, kafkas("00000000000000000000.txnindex"));
  EXPECT_EQ(transaction_index::load(as_byte_view(bytes).data()).value(),
            (AbortedTransaction{ProducerId{2}, Offset{16}, Offset{21}, Offset{22}}));
  expect_rows_fill(page("transaction-index.md"), "version", transaction_index::entry_bytes);
}

TEST(LogFormatPages, producer_snapshot_is_as_described) {
  const std::string bytes = bytes_of("producer-snapshot.md");
  EXPECT_EQ(bytes, kafkas("00000000000000000034.snapshot"));
  const auto entries = producer_snapshot::parse(as_byte_view(bytes));
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->at(0).last_sequence(), 9);
  EXPECT_EQ(entries->at(1).epoch, ProducerEpoch{4});
  expect_rows_fill(page("producer-snapshot.md"), "version", producer_snapshot::header_bytes);
  expect_rows_fill(page("producer-snapshot.md"), "producer id", producer_snapshot::entry_bytes);
}

TEST(LogFormatPages, log_segment_is_as_described) {
  const std::string bytes = bytes_of("log-segment.md");
  EXPECT_EQ(bytes, kafkas("00000000000000000000.log").substr(0, bytes.size()));
  test::TestLog log;
  log.disk.put_file(log.path(Offset{0}, ".log"), bytes);
  log.open();
  EXPECT_TRUE(log.log->recovery().lossless());
  EXPECT_EQ(log.end(), Offset{2});
}

TEST(LogFormatPages, small_files_are_as_described) {
  EXPECT_EQ(block(page("partition-metadata.md"), "file"), kafkas("partition.metadata") + "\n");
  const std::string text = block(page("leader-epoch-checkpoint.md"), "file");
  const auto epochs = LeaderEpochCache::parse(text);
  ASSERT_TRUE(epochs) << epochs.error().message;
  EXPECT_EQ(epochs->format(), text);
  EXPECT_EQ(LeaderEpochCache::parse(kafkas("leader-epoch-checkpoint"))->format(),
            kafkas("leader-epoch-checkpoint"));
}

}  // namespace
}  // namespace barnabas::storage
