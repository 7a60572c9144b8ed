// Runs every golden record batch and every damaged one, as taken from Apache Kafka 4.4.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/crc32c.h"
#include "protocol/records/control_record.h"
#include "protocol/records/old_messages.h"
#include "protocol/records/produce_validation.h"
#include "protocol/records/record_batch.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"
#include "protocol/records/test_support.h"

namespace barnabas::protocol {
namespace {

using nlohmann::json;
using test::Bytes;

void expect_field(const json& record, const std::string& name, std::optional<ByteView> actual) {
  if (record.contains(name + "Length")) {
    ASSERT_TRUE(actual.has_value());
    EXPECT_EQ(actual->size(), record[name + "Length"].get<size_t>());
    EXPECT_EQ(crc32c(*actual), record[name + "Crc32c"].get<uint32_t>());
    return;
  }
  ASSERT_EQ(actual.has_value(), !record[name].is_null()) << name;
  if (!actual) return;
  EXPECT_EQ(test::to_hex(*actual), test::to_hex(test::from_base64(record[name].get<std::string>())));
}

void expect_header(const json& expected, const RecordBatchHeader& header) {
  EXPECT_EQ(header.base_offset.value(), expected["baseOffset"].get<int64_t>());
  EXPECT_EQ(header.last_offset().value(), expected["lastOffset"].get<int64_t>());
  EXPECT_EQ(header.size_bytes(), expected["sizeInBytes"].get<size_t>());
  EXPECT_EQ(header.crc, expected["checksum"].get<uint32_t>());
  EXPECT_EQ(to_string(header.codec().value()), expected["compression"].get<std::string>());
  EXPECT_EQ(header.timestamp_type() == TimestampType::log_append_time,
            expected["timestampType"] == "LogAppendTime");
  EXPECT_EQ(header.max_timestamp.value(), expected["maxTimestamp"].get<int64_t>());
  EXPECT_EQ(header.base_timestamp.value(), expected["baseTimestamp"].get<int64_t>());
  EXPECT_EQ(header.partition_leader_epoch.value(), expected["partitionLeaderEpoch"].get<int32_t>());
  EXPECT_EQ(header.producer_id.value(), expected["producerId"].get<int64_t>());
  EXPECT_EQ(header.producer_epoch.value(), expected["producerEpoch"].get<int16_t>());
  EXPECT_EQ(header.base_sequence, expected["baseSequence"].get<int32_t>());
  EXPECT_EQ(header.last_sequence(), expected["lastSequence"].get<int32_t>());
  EXPECT_EQ(header.record_count, expected["count"].get<int32_t>());
  EXPECT_EQ(header.is_transactional(), expected["isTransactional"].get<bool>());
  EXPECT_EQ(header.is_control(), expected["isControl"].get<bool>());
  EXPECT_EQ(header.delete_horizon().has_value(), !expected["deleteHorizonMs"].is_null());
}

void expect_record(const json& expected, const RecordBatchHeader& header, const RecordView& record) {
  EXPECT_EQ(record.offset.value(), expected["offset"].get<int64_t>());
  EXPECT_EQ(record.timestamp.value(), expected["timestamp"].get<int64_t>());
  const int32_t sequence =
      header.base_sequence < 0 ? no_sequence : sequence_plus(header.base_sequence, record.offset_delta);
  EXPECT_EQ(sequence, expected["sequence"].get<int32_t>());
  expect_field(expected, "key", record.key());
  expect_field(expected, "value", record.value());
  auto wanted = expected["headers"].begin();
  for (const RecordHeader& header_of_record : record.headers()) {
    ASSERT_NE(wanted, expected["headers"].end());
    EXPECT_EQ(header_of_record.key, (*wanted)["key"].get<std::string>());
    expect_field(*wanted, "value", header_of_record.value);
    ++wanted;
  }
  EXPECT_EQ(wanted, expected["headers"].end());
  if (expected.contains("controlType")) {
    EXPECT_EQ(static_cast<int>(control_record_type(record.key()).value()),
              expected["controlType"].get<int>());
  }
  if (expected.contains("coordinatorEpoch")) {
    EXPECT_EQ(transaction_marker_coordinator_epoch(record.value()),
              expected["coordinatorEpoch"].get<int32_t>());
  }
}

void expect_batch(const json& expected, const RecordBatchView& batch) {
  ASSERT_EQ(expected["magic"].get<int>(), 2);
  EXPECT_TRUE(batch.verify_crc());
  EXPECT_TRUE(validate_stored_batch(batch.bytes()).has_value());
  expect_header(expected, batch.header());
  for (const ReadMode mode : {ReadMode::contents, ReadMode::structure}) {
    RecordReader reader(batch, {.mode = mode});
    RecordView record;
    for (const json& wanted : expected["records"]) {
      const Result<bool> more = reader.next(record);
      ASSERT_TRUE(more.has_value()) << more.error().message;
      ASSERT_TRUE(*more);
      if (record.has_contents) expect_record(wanted, batch.header(), record);
      EXPECT_EQ(record.offset.value(), wanted["offset"].get<int64_t>());
    }
    EXPECT_FALSE(reader.next(record).value());
  }
}

void expect_old_message(const json& expected, ByteView whole) {
  EXPECT_TRUE(verify_old_message_crc(whole));
  const auto outer = OldMessage::parse(whole);
  ASSERT_TRUE(outer.has_value());
  EXPECT_EQ(outer->magic, expected["magic"].get<int>());
  EXPECT_EQ(outer->offset.value(), expected["lastOffset"].get<int64_t>());
  EXPECT_EQ(outer->size_bytes, expected["sizeInBytes"].get<int32_t>());
  EXPECT_EQ(outer->crc, expected["checksum"].get<uint32_t>());
  EXPECT_EQ(to_string(outer->codec().value()), expected["compression"].get<std::string>());
  EXPECT_EQ(outer->timestamp.value(), expected["maxTimestamp"].get<int64_t>());
  const auto read = read_old_messages(whole);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->messages.size(), expected["records"].size());
  for (size_t i = 0; i < read->messages.size(); ++i) {
    const json& wanted = expected["records"][i];
    EXPECT_EQ(read->messages[i].offset.value(), wanted["offset"].get<int64_t>());
    EXPECT_EQ(read->messages[i].timestamp.value(), wanted["timestamp"].get<int64_t>());
    expect_field(wanted, "key", read->messages[i].key);
    expect_field(wanted, "value", read->messages[i].value);
  }
}

TEST(BatchVectors, good_batches_decode_to_their_content) {
  const auto lines = test::vectors("record_batches.jsonl");
  EXPECT_EQ(lines.size(), 59U);
  for (const json& line : lines) {
    SCOPED_TRACE(line["name"].get<std::string>());
    const Bytes bytes = test::from_hex(line["hex"].get<std::string>());
    BatchIterator batches(bytes);
    for (const json& expected : line["batches"]) {
      const BatchIterator::Step step = batches.next();
      if (step == BatchIterator::Step::old_message) {
        expect_old_message(expected, batches.old_message());
      } else {
        ASSERT_EQ(step, BatchIterator::Step::batch);
        expect_batch(expected, batches.batch());
      }
    }
    EXPECT_EQ(batches.next(), BatchIterator::Step::end);
  }
}

TEST(BatchVectors, plain_batches_are_built_byte_for_byte) {
  int built = 0;
  for (const json& line : test::vectors("record_batches.jsonl")) {
    SCOPED_TRACE(line["name"].get<std::string>());
    const Bytes bytes = test::from_hex(line["hex"].get<std::string>());
    const auto parsed = RecordBatchView::parse(bytes);
    if (!parsed || line["batches"].size() != 1 || parsed->codec() != Codec::none) continue;
    const RecordBatchHeader header = parsed->header();
    RecordBatchOptions options;
    options.base_offset = header.base_offset;
    options.partition_leader_epoch = header.partition_leader_epoch;
    options.producer_id = header.producer_id;
    options.producer_epoch = header.producer_epoch;
    options.base_sequence = header.base_sequence;
    options.transactional = header.is_transactional();
    options.control = header.is_control();
    options.delete_horizon = header.delete_horizon();
    if (header.timestamp_type() == TimestampType::log_append_time)
      options.log_append_time = header.max_timestamp;
    if (header.record_count == 0) continue;  // keeps the max timestamp of the records that went
    RecordBatchBuilder builder(options);
    RecordReader reader(*parsed);
    RecordView record;
    while (reader.next(record).value()) {
      RecordView with_own_time = record;
      with_own_time.timestamp = header.base_timestamp + record.timestamp_delta;
      builder.append_at(record.offset, with_own_time);
    }
    builder.set_last_offset(header.last_offset());
    EXPECT_EQ(test::to_hex(builder.build()), line["hex"].get<std::string>());
    ++built;
  }
  EXPECT_GT(built, 20);
}

TEST(BatchVectors, every_truncation_of_a_compressed_content_is_refused) {
  for (const json& line : test::vectors("record_batches.jsonl")) {
    const Bytes whole = test::from_hex(line["hex"].get<std::string>());
    const auto parsed = RecordBatchView::parse(whole);
    if (!parsed || parsed->codec() == Codec::none || parsed->size_bytes() > 1000) continue;
    for (size_t size = batch_format::header_bytes; size < whole.size(); ++size) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      store_big_endian<int32_t>(cut.data() + batch_format::length_at,
                                static_cast<int32_t>(size - batch_format::log_overhead));
      seal(cut);
      RecordReader reader(RecordBatchView::parse(cut).value());
      RecordView record;
      Result<bool> more = true;
      while (more && *more) more = reader.next(record);
      ASSERT_FALSE(more.has_value()) << line["name"] << " cut to " << size << " of " << whole.size();
    }
  }
}

// --- damaged batches
// --------------------------------------------------------------------------------------------------

// Where the reader differs from Kafka's on purpose.
//  - a length near 2^31: Kafka's reader fails by accident; here the length is corrupt.
const std::map<std::string, std::string> reader_differences = {{"length-max-int", "corrupt"}};

// Where produce differs on purpose: Kafka says UNKNOWN_SERVER_ERROR (-1) where its own code fails by
// accident.
const std::map<std::string, ErrorCode> produce_differences = {
    {"length-max-int", ErrorCode::corrupt_message},
    {"offset-deltas-0-2-1-gzip", ErrorCode::invalid_record},
    {"record-varint-11-bytes", ErrorCode::invalid_record},
    {"compression-id-5", ErrorCode::invalid_record},
    {"compression-id-6", ErrorCode::invalid_record},
    {"compression-id-7", ErrorCode::invalid_record},
    {"compression-id-1-but-plain-bytes", ErrorCode::invalid_record},
    {"compression-id-2-but-plain-bytes", ErrorCode::invalid_record},
    {"compression-id-3-but-plain-bytes", ErrorCode::invalid_record},
    {"compression-id-4-but-plain-bytes", ErrorCode::invalid_record},
    {"compressed-gzip-cut-short", ErrorCode::invalid_record},
    {"compressed-zstd-cut-short", ErrorCode::invalid_record},
};

// Errors that come from what the broker knows (transactions, producers), not from the bytes: what the bytes
// give.
const std::map<std::string, ErrorCode> decided_above = {
    {"control-batch-from-client", ErrorCode::invalid_record},
    {"control-batch-from-client-with-id-produce-v11", ErrorCode::invalid_record},
    {"transactional-bit-without-producer", ErrorCode::none},
    {"transactional-batch-not-in-a-transaction", ErrorCode::none},
    {"transactional-other-producer-id-produce-v11", ErrorCode::none},
    {"transactional-other-epoch-produce-v11", ErrorCode::none},
    {"transactional-partition-not-added-produce-v11", ErrorCode::none},
    {"transactional-other-producer-id-produce-v12", ErrorCode::none},
    {"transactional-other-epoch-produce-v12", ErrorCode::none},
    {"producer-epoch-negative", ErrorCode::none},
};

std::string text_of(const json& reader, const char* name) {
  if (!reader.contains(name)) return "";
  return reader[name].is_string() ? reader[name].get<std::string>() : reader[name].dump();
}

TEST(BatchVectors, damaged_batches_are_read_as_kafka_reads_them) {
  const auto lines = test::vectors("record_batches_bad.jsonl");
  EXPECT_EQ(lines.size(), 122U);
  for (const json& line : lines) {
    const auto name = line["name"].get<std::string>();
    SCOPED_TRACE(name);
    const Bytes bytes = test::from_hex(line["hex"].get<std::string>());
    const json& expected = line["reader"];
    int batch_count = 0, record_count = 0;
    bool crc_ok = true, records_ok = true, walk_ok = true;
    BatchIterator batches(bytes);
    for (;;) {
      const BatchIterator::Step step = batches.next();
      walk_ok = step == BatchIterator::Step::end || step == BatchIterator::Step::torn;
      if (step == BatchIterator::Step::old_message) {
        ++batch_count;
        const auto read = read_old_messages(batches.old_message());
        ASSERT_TRUE(read.has_value());
        record_count += static_cast<int>(read->messages.size());
        continue;
      }
      if (step != BatchIterator::Step::batch) break;
      ++batch_count;
      crc_ok = crc_ok && batches.batch().verify_crc();
      RecordReader reader(batches.batch());
      RecordView record;
      Result<bool> more = true;
      while ((more = reader.next(record)).has_value() && *more) ++record_count;
      records_ok = records_ok && more.has_value();
    }
    if (reader_differences.contains(name) || !expected["batches"].is_number()) {
      EXPECT_FALSE(walk_ok);
      continue;
    }
    EXPECT_EQ(std::to_string(batch_count), text_of(expected, "batches"));
    if (expected.contains("ensureValid")) {
      EXPECT_EQ(crc_ok, expected["ensureValid"] == "ok");
    }
    if (!expected.contains("records")) continue;
    EXPECT_EQ(records_ok, expected["records"].is_number());
    if (records_ok) {
      EXPECT_EQ(record_count, expected["records"].get<int>());
    }
  }
}

ProduceRules rules_of(const json& line) {
  ProduceRules rules;
  rules.now = TimestampMs{1700000000000 + 60000};
  rules.produce_version = line["produce"]["version"].get<int16_t>();
  if (!line.contains("topicConfig")) return rules;
  for (const auto& [name, value] : line["topicConfig"].items()) {
    const auto text = value.get<std::string>();
    if (name == "cleanup.policy")
      rules.compacted = text == "compact";
    else if (name == "max.message.bytes")
      rules.max_message_bytes = std::stoi(text);
    else if (name == "max.decompressed.message.bytes")
      rules.max_decompressed_message_bytes = std::stoi(text);
    else if (name == "message.timestamp.type")
      rules.timestamp_type = TimestampType::log_append_time;
    else if (name == "compression.type")
      rules.target_compression = Compression{codec_from_name(text).value(), {}};
    else
      ADD_FAILURE() << "unknown setting " << name;
  }
  return rules;
}

ErrorCode expected_error(const json& line) {
  const auto name = line["name"].get<std::string>();
  if (const auto found = produce_differences.find(name); found != produce_differences.end()) {
    EXPECT_EQ(line["produce"]["errorCode"].get<int>(), -1);
    return found->second;
  }
  if (const auto found = decided_above.find(name); found != decided_above.end()) return found->second;
  return static_cast<ErrorCode>(line["produce"]["errorCode"].get<int>());
}

void expect_stored(const json& line, ByteView stored) {
  if (!line.contains("storedHex")) return;
  const Bytes wanted = test::from_hex(line["storedHex"].get<std::string>());
  const RecordBatchView expected = RecordBatchView::parse(wanted).value();
  const RecordBatchView actual = RecordBatchView::parse(stored).value();
  EXPECT_TRUE(actual.verify_crc());
  if (expected.timestamp_type() == TimestampType::log_append_time || line.contains("topicConfig")) {
    // The broker's clock or the codec's version shows in the bytes.
    EXPECT_EQ(actual.attributes(), expected.attributes());
    EXPECT_EQ(actual.record_count(), expected.record_count());
    EXPECT_EQ(actual.base_timestamp(), expected.base_timestamp());
    return;
  }
  EXPECT_EQ(test::to_hex(stored), line["storedHex"].get<std::string>());
}

TEST(BatchVectors, damaged_batches_are_answered_as_kafka_answers_them) {
  std::set<std::string> names;
  for (const json& line : test::vectors("record_batches_bad.jsonl")) {
    const auto name = line["name"].get<std::string>();
    SCOPED_TRACE(name);
    names.insert(name);
    Bytes bytes = test::from_hex(line["hex"].get<std::string>());
    const Bytes before = bytes;
    const auto validated = validate_produced_records(MutableByteView(bytes), rules_of(line));
    const ErrorCode actual = validated ? ErrorCode::none : validated.error().error;
    ASSERT_EQ(static_cast<int>(actual), static_cast<int>(expected_error(line)))
        << (validated ? "" : validated.error().message);
    if (!validated) {
      EXPECT_EQ(bytes, before) << "a refused batch is left as it is";
      std::vector<int> indexes;
      for (const RecordError& error : validated.error().record_errors) indexes.push_back(error.batch_index);
      EXPECT_EQ(json(indexes), line["produce"]["recordErrors"]);
      continue;
    }
    set_base_offset(validated->bytes, Offset{line["produce"]["baseOffset"].get<int64_t>()});
    set_partition_leader_epoch(validated->bytes, LeaderEpoch{0});
    expect_stored(line, validated->bytes);
  }
  for (const auto& [name, code] : produce_differences) EXPECT_TRUE(names.contains(name)) << name;
  for (const auto& [name, code] : decided_above) EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace barnabas::protocol
