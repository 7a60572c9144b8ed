#include "protocol/records/batch_filter.h"

#include <gtest/gtest.h>

#include <string>

#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"

namespace barnabas::protocol {
namespace {

/// Keys as they come together from their pieces.
class Keys final : public KeyVisitor {
 public:
  void key(ByteView piece) override { key_.append(as_text(piece)); }
  bool record(const RecordFacts& facts) override {
    lines.push_back(std::to_string(facts.offset.value()) + (facts.has_key ? " " + key_ : " -") +
                    (facts.has_value ? "" : " tombstone"));
    key_.clear();
    return lines.size() != stop_after;
  }
  std::vector<std::string> lines;
  std::size_t stop_after = 0;

 private:
  std::string key_;
};

struct Row {
  std::optional<std::string> key, value;
};
std::vector<std::byte> batch_of(const std::vector<Row>& rows, Codec codec, RecordBatchOptions options = {}) {
  options.compression.codec = codec;
  options.base_offset = Offset{100};
  RecordBatchBuilder builder(options);
  const auto view = [](const std::optional<std::string>& text) {
    return text ? std::optional(as_byte_view(*text)) : std::nullopt;
  };
  const std::vector<RecordHeader> headers{{.key = "h", .value = as_byte_view("x")}};
  int64_t time = 5'000;
  for (const Row& row : rows) builder.append(TimestampMs(time += 7), view(row.key), view(row.value), headers);
  return builder.build();
}

class BatchFilterTest : public ::testing::TestWithParam<Codec> {
 protected:
  const std::string large = std::string(300'000, 'k');
  const std::vector<Row> rows{
      {"a", "1"}, {large, "2"}, {std::nullopt, "3"}, {"", std::nullopt}, {"a", large}};
};

INSTANTIATE_TEST_SUITE_P(Codecs, BatchFilterTest,
                         ::testing::Values(Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd),
                         [](const auto& codec) { return std::string(to_string(codec.param)); });

TEST_P(BatchFilterTest, keys_of_any_size_are_told_in_order) {
  const auto bytes = batch_of(rows, GetParam());
  Keys keys;
  ASSERT_TRUE(visit_keys(RecordBatchView::trusted(bytes), keys));
  EXPECT_EQ(keys.lines,
            (std::vector<std::string>{"100 a", "101 " + large, "102 -", "103  tombstone", "104 a"}));
  Keys some;
  some.stop_after = 2;
  ASSERT_TRUE(visit_keys(RecordBatchView::trusted(bytes), some));
  EXPECT_EQ(some.lines.size(), 2u);
}

TEST_P(BatchFilterTest, what_stays_is_as_it_was) {
  const auto bytes = batch_of(rows, GetParam());
  const auto batch = RecordBatchView::trusted(bytes);
  for (const auto horizon : {std::optional<TimestampMs>(), std::optional(TimestampMs{77'000})}) {
    const auto filtered =
        filter_batch(batch, {.kept = {false, true, false, true, true}, .delete_horizon = horizon});
    ASSERT_TRUE(filtered && *filtered);
    const auto result = RecordBatchView::parse(**filtered);
    ASSERT_TRUE(result && result->verify_crc());
    EXPECT_EQ(result->base_offset(), Offset{100});
    EXPECT_EQ(result->last_offset(), Offset{104});
    EXPECT_EQ(result->codec(), GetParam());
    EXPECT_EQ(result->header().delete_horizon(), horizon);
    EXPECT_EQ(result->record_count(), 3);
    EXPECT_EQ(result->max_timestamp(), TimestampMs{5'035});
    RecordReader before(batch), after(*result);
    RecordView old_record, new_record;
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(before.next(old_record).value());
      if (i == 0 || i == 2) continue;
      ASSERT_TRUE(after.next(new_record).value());
      EXPECT_EQ(new_record.offset, old_record.offset);
      EXPECT_EQ(new_record.timestamp, old_record.timestamp);
      ASSERT_EQ(new_record.key().has_value(), old_record.key().has_value());
      EXPECT_EQ(as_text(*new_record.key()), as_text(*old_record.key()));
      EXPECT_EQ(new_record.value().has_value(), old_record.value().has_value());
      EXPECT_EQ(as_text(new_record.headers().bytes()), as_text(old_record.headers().bytes()));
    }
    EXPECT_FALSE(after.next(new_record).value());
  }
}

TEST_P(BatchFilterTest, horizon_stays_when_records_go) {
  RecordBatchOptions options;
  options.delete_horizon = TimestampMs{9'000};
  const auto bytes = batch_of(rows, GetParam(), options);
  const auto filtered = filter_batch(RecordBatchView::trusted(bytes),
                                     {.kept = {true, false, false, true, false}, .delete_horizon = {}});
  const auto result = RecordBatchView::parse(**filtered);
  EXPECT_EQ(result->header().delete_horizon(), TimestampMs{9'000});
  RecordReader reader(*result);
  RecordView record;
  ASSERT_TRUE(reader.next(record).value());
  EXPECT_EQ(record.timestamp, TimestampMs{5'007});
}

TEST_P(BatchFilterTest, result_above_its_limit_is_given_up) {
  std::vector<Row> noise;
  uint64_t state = 1;
  for (int i = 0; i < 200; ++i) {
    std::string value(1'000, 0);
    for (char& c : value)
      c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
    noise.push_back({"k", value});
  }
  const auto bytes = batch_of(noise, GetParam());
  const auto filtered =
      filter_batch(RecordBatchView::trusted(bytes),
                   {.kept = std::vector<bool>(200, true), .delete_horizon = {}, .size_max = 50'000});
  ASSERT_TRUE(filtered);
  EXPECT_FALSE(*filtered);
}

TEST_P(BatchFilterTest, damage_is_an_error) {
  const auto bytes = batch_of({{"a", "1"}, {"b", "2"}, {"c", "3"}}, GetParam());
  for (std::size_t at = batch_format::records_at; at < bytes.size(); ++at) {
    auto damaged = bytes;
    damaged[at] ^= std::byte{0x55};
    const auto batch = RecordBatchView::trusted(damaged);
    Keys keys;
    static_cast<void>(visit_keys(batch, keys).has_value());
    static_cast<void>(filter_batch(batch, {.kept = {true, false, true}, .delete_horizon = {}}).has_value());
    const auto cut = RecordBatchView::trusted(ByteView(bytes).first(at));
    EXPECT_FALSE(visit_keys(cut, keys)) << "cut at " << at;
  }
}

TEST(EmptiedBatch, keeps_offsets_producer_and_kind_only) {
  RecordBatchOptions options;
  options.producer_id = ProducerId{4};
  options.producer_epoch = ProducerEpoch{3};
  options.base_sequence = 50;
  options.transactional = true;
  options.partition_leader_epoch = LeaderEpoch{9};
  options.delete_horizon = TimestampMs{1};
  const auto bytes = batch_of({{"a", "1"}, {"b", "2"}}, Codec::zstd, options);
  const auto emptied = emptied_batch(RecordBatchView::trusted(bytes));
  const auto batch = RecordBatchView::parse(emptied);
  ASSERT_TRUE(batch && batch->verify_crc());
  EXPECT_EQ(emptied.size(), batch_format::header_bytes);
  EXPECT_EQ(batch->record_count(), 0);
  EXPECT_EQ(batch->last_offset(), Offset{101});
  EXPECT_EQ(batch->last_sequence(), 51);
  EXPECT_EQ(batch->attributes(), batch_format::transactional_bit);
  EXPECT_EQ(batch->base_timestamp(), no_timestamp);
  EXPECT_EQ(batch->max_timestamp(), TimestampMs{5'014});
  EXPECT_EQ(batch->partition_leader_epoch(), LeaderEpoch{9});
}

}  // namespace
}  // namespace barnabas::protocol
