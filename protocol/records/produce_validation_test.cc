#include "protocol/records/produce_validation.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "protocol/compression/compressor.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"
#include "protocol/records/test_support.h"
#include "protocol/records/varint.h"

namespace barnabas::protocol {
namespace {

using test::Bytes;

constexpr Codec all_codecs[] = {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd};
constexpr TimestampMs now{1'700'000'000'000};
constexpr int64_t day = 86'400'000;

Bytes batch(int records = 3, RecordBatchOptions options = {}, TimestampMs time = now) {
  RecordBatchBuilder builder(options);
  for (int i = 0; i < records; ++i) builder.append(time + i, as_byte_view("key"), as_byte_view("value"));
  return builder.build();
}

ProduceRules rules() {
  ProduceRules rules;
  rules.now = now;
  return rules;
}

template <class T>
Bytes sealed_with(Bytes bytes, size_t at, T value) {
  store_big_endian<T>(bytes.data() + at, value);
  seal(bytes);
  return bytes;
}

struct Outcome {
  ErrorCode error = ErrorCode::none;
  std::vector<int> record_errors;
  bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  out << static_cast<int>(outcome.error) << " [";
  for (const int index : outcome.record_errors) out << index << " ";
  return out << "]";
}

Outcome outcome(Bytes bytes, const ProduceRules& with = rules()) {
  const auto validated = validate_produced_records(MutableByteView(bytes), with);
  if (validated) return {};
  Outcome result{validated.error().error, {}};
  EXPECT_FALSE(validated.error().message.empty());
  for (const RecordError& error : validated.error().record_errors)
    result.record_errors.push_back(error.batch_index);
  return result;
}
const Outcome invalid_record{ErrorCode::invalid_record, {}};
const Outcome corrupt{ErrorCode::corrupt_message, {}};

TEST(ProduceValidation, a_good_batch_is_described_and_left_as_it_is) {
  Bytes bytes = batch(3, {.producer_id = ProducerId{9},
                          .producer_epoch = ProducerEpoch{2},
                          .base_sequence = 5,
                          .transactional = true});
  const Bytes before = bytes;
  const auto validated = validate_produced_records(MutableByteView(bytes), rules());
  ASSERT_TRUE(validated.has_value());
  EXPECT_EQ(validated->bytes.data(), bytes.data());
  EXPECT_EQ(validated->bytes.size(), bytes.size());
  EXPECT_TRUE(validated->owned.empty());
  EXPECT_EQ(validated->record_count, 3);
  EXPECT_EQ(validated->last_offset_delta, 2);
  EXPECT_EQ(validated->time_index_offset_delta, 2);
  EXPECT_EQ(validated->max_timestamp, now + 2);
  EXPECT_EQ(validated->producer_id, ProducerId{9});
  EXPECT_EQ(validated->producer_epoch, ProducerEpoch{2});
  EXPECT_EQ(validated->base_sequence, 5);
  EXPECT_TRUE(validated->transactional);
  EXPECT_FALSE(validated->control);
  EXPECT_EQ(validated->log_append_time, no_timestamp);
  EXPECT_EQ(validated->codec, Codec::none);
  EXPECT_EQ(bytes, before);
}

TEST(ProduceValidation, null_and_empty_records_are_invalid) {
  EXPECT_EQ(validate_produced_records(std::nullopt, rules()).error().error, ErrorCode::invalid_record);
  EXPECT_EQ(outcome({}), invalid_record);
}

TEST(ProduceValidation, every_truncation_is_invalid) {
  for (const Codec codec : all_codecs) {
    const Bytes good = batch(3, {.compression = {codec}});
    for (size_t size = 0; size < good.size(); ++size) {
      EXPECT_EQ(outcome(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))),
                invalid_record);
    }
  }
}

TEST(ProduceValidation, every_flipped_bit_that_the_checksum_covers_is_corrupt) {
  for (const Codec codec : all_codecs) {
    const Bytes good = batch(2, {.compression = {codec}});
    // The codec is looked at before the checksum: zstd in an old request, nothing else.
    for (size_t bit = batch_format::crc_at * 8; bit < good.size() * 8; ++bit) {
      Bytes damaged = good;
      damaged[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
      EXPECT_EQ(outcome(damaged), corrupt) << bit;
    }
  }
}

TEST(ProduceValidation, a_tail_that_is_no_batch_is_dropped_and_a_second_batch_refused) {
  const Bytes good = batch();
  for (size_t tail = 1; tail < good.size(); ++tail) {
    Bytes bytes = good;
    bytes.insert(bytes.end(), good.begin(), good.begin() + static_cast<std::ptrdiff_t>(tail));
    const auto validated = validate_produced_records(MutableByteView(bytes), rules());
    ASSERT_TRUE(validated.has_value());
    EXPECT_EQ(validated->bytes.size(), good.size());
  }
  Bytes twice = good;
  twice.insert(twice.end(), good.begin(), good.end());
  EXPECT_EQ(outcome(twice), invalid_record);
  Bytes garbage = good;
  garbage.resize(good.size() + 40, std::byte{0});
  EXPECT_EQ(outcome(garbage), corrupt);
}

TEST(ProduceValidation, counts_and_offset_ranges_that_do_not_fit_are_invalid) {
  for (const Codec codec : all_codecs) {
    const Bytes good = batch(3, {.compression = {codec}});
    for (const int32_t delta : {9, 0, 1, 3, -1, INT32_MAX, INT32_MIN}) {
      EXPECT_EQ(outcome(sealed_with(good, batch_format::last_offset_delta_at, delta)), invalid_record)
          << delta;
    }
    for (const int32_t count : {0, 1, 2, 4, -1, INT32_MAX, INT32_MIN}) {
      EXPECT_EQ(outcome(sealed_with(good, batch_format::record_count_at, count)), invalid_record) << count;
      const Bytes both = sealed_with(good, batch_format::last_offset_delta_at, count - (count > INT32_MIN));
      EXPECT_EQ(outcome(sealed_with(both, batch_format::record_count_at, count)), invalid_record) << count;
    }
  }
}

TEST(ProduceValidation, the_size_limit_is_on_the_whole_batch_as_sent) {
  Bytes bytes = batch();
  ProduceRules limited = rules();
  limited.max_message_bytes = static_cast<int32_t>(bytes.size());
  EXPECT_EQ(outcome(bytes, limited), Outcome{});
  limited.max_message_bytes -= 1;
  EXPECT_EQ(outcome(bytes, limited), (Outcome{ErrorCode::message_too_large, {}}));
  const Bytes large = single_record_batch(now, std::nullopt, Bytes(2 << 20));
  EXPECT_EQ(outcome(large), (Outcome{ErrorCode::message_too_large, {}}));
  EXPECT_EQ(outcome(single_record_batch(now, std::nullopt, Bytes(2 << 20), {.compression = {Codec::lz4}})),
            Outcome{});
}

TEST(ProduceValidation, the_first_check_that_fails_decides) {
  const Bytes good = batch();
  ProduceRules tight = rules();
  tight.max_message_bytes = 10;
  Bytes wrong_offset = good;
  set_base_offset(wrong_offset, Offset{1});
  EXPECT_EQ(outcome(wrong_offset, tight), invalid_record) << "base offset before size";
  Bytes bad_checksum = good;
  bad_checksum.back() ^= std::byte{1};
  EXPECT_EQ(outcome(bad_checksum, tight), (Outcome{ErrorCode::message_too_large, {}}))
      << "size before checksum";
  bad_checksum = sealed_with(good, batch_format::record_count_at, 7);
  bad_checksum.back() ^= std::byte{1};
  EXPECT_EQ(outcome(bad_checksum), corrupt) << "checksum before counts";
}

TEST(ProduceValidation, zstd_needs_version_7) {
  ProduceRules old = rules();
  old.produce_version = 6;
  const Bytes zstd = batch(3, {.compression = {Codec::zstd}});
  EXPECT_EQ(outcome(zstd, old), (Outcome{ErrorCode::unsupported_compression_type, {}}));
  EXPECT_EQ(outcome(batch(3, {.compression = {Codec::lz4}}), old), Outcome{});
  old.produce_version = 7;
  EXPECT_EQ(outcome(zstd, old), Outcome{});
}

TEST(ProduceValidation, clients_may_not_write_control_batches) {
  EXPECT_EQ(outcome(batch(1, {.control = true})), invalid_record);
  EXPECT_EQ(outcome(batch(1, {.producer_id = ProducerId{1},
                              .producer_epoch = ProducerEpoch{0},
                              .base_sequence = 0,
                              .transactional = true,
                              .control = true})),
            invalid_record);
}

TEST(ProduceValidation, a_producer_id_needs_a_sequence) {
  EXPECT_EQ(outcome(batch(1, {.producer_id = ProducerId{1}, .producer_epoch = ProducerEpoch{0}})),
            invalid_record);
  EXPECT_EQ(outcome(batch(1, {.producer_id = ProducerId{1}, .base_sequence = 0})), Outcome{});
  EXPECT_EQ(outcome(batch(1, {.base_sequence = 0})), Outcome{});
}

// --- keys and timestamps
// ----------------------------------------------------------------------------------------------

TEST(ProduceValidation, compacted_topics_want_keys_and_name_every_record_without) {
  ProduceRules compacted = rules();
  compacted.compacted = true;
  for (const Codec codec : all_codecs) {
    RecordBatchBuilder builder({.compression = {codec}});
    builder.append(now, as_byte_view("a"), as_byte_view("value"));
    builder.append(now, std::nullopt, as_byte_view("value"));
    builder.append(now, as_byte_view(""), std::nullopt);
    builder.append(now, std::nullopt, std::nullopt);
    const Bytes bytes = builder.build();
    EXPECT_EQ(outcome(bytes, compacted), (Outcome{ErrorCode::invalid_record, {1, 3}})) << to_string(codec);
    EXPECT_EQ(outcome(bytes), Outcome{});
  }
}

TEST(ProduceValidation, timestamps_outside_of_the_bounds_are_refused) {
  ProduceRules bounded = rules();
  bounded.timestamp_before_max_ms = 1000;
  bounded.timestamp_after_max_ms = 2000;
  for (const Codec codec : all_codecs) {
    const auto at = [&](int64_t time) {
      return outcome(
          single_record_batch(TimestampMs{time}, std::nullopt, as_byte_view("v"), {.compression = {codec}}),
          bounded);
    };
    const Outcome refused{ErrorCode::invalid_timestamp, {0}};
    EXPECT_EQ(at(now.value() - 1000), Outcome{});
    EXPECT_EQ(at(now.value() - 1001), refused);
    EXPECT_EQ(at(now.value() + 2000), Outcome{});
    EXPECT_EQ(at(now.value() + 2001), refused);
    EXPECT_EQ(at(-1), Outcome{}) << "no timestamp at all";
    EXPECT_EQ(at(INT64_MAX), refused);
    EXPECT_EQ(at(INT64_MIN), refused);
  }
  EXPECT_EQ(outcome(batch(1, {}, now + day)), (Outcome{ErrorCode::invalid_timestamp, {0}}));
  EXPECT_EQ(outcome(batch(1, {}, now - 10000 * day)), Outcome{});
}

TEST(ProduceValidation, timestamp_errors_win_over_missing_keys) {
  ProduceRules compacted = rules();
  compacted.compacted = true;
  RecordBatchBuilder builder;
  builder.append(now, std::nullopt, std::nullopt);
  builder.append(now + day, as_byte_view("k"), std::nullopt);
  builder.append(now + day, std::nullopt, std::nullopt);
  EXPECT_EQ(outcome(builder.build(), compacted), (Outcome{ErrorCode::invalid_timestamp, {0, 1, 2}}));
}

TEST(ProduceValidation, record_errors_are_bounded) {
  ProduceRules compacted = rules();
  compacted.compacted = true;
  RecordBatchBuilder builder({.compression = {Codec::zstd}});
  for (int i = 0; i < 100'000; ++i) builder.append(now, std::nullopt, std::nullopt);
  EXPECT_EQ(outcome(builder.build(), compacted).record_errors.size(), record_errors_max);
}

TEST(ProduceValidation, a_wrong_max_timestamp_is_corrected) {
  for (const Codec codec : all_codecs) {
    const Bytes good = batch(3, {.compression = {codec}});
    Bytes wrong = sealed_with(good, batch_format::max_timestamp_at, int64_t{5});
    const auto validated = validate_produced_records(MutableByteView(wrong), rules());
    ASSERT_TRUE(validated.has_value());
    EXPECT_EQ(validated->max_timestamp, now + 2);
    EXPECT_EQ(wrong, good);
  }
}

TEST(ProduceValidation, log_append_time_topics_get_the_brokers_time) {
  ProduceRules broker_time = rules();
  broker_time.timestamp_type = TimestampType::log_append_time;
  broker_time.timestamp_after_max_ms = 1;
  for (const Codec codec : all_codecs) {
    Bytes bytes = batch(3, {.compression = {codec}}, now + 1000 * day);
    const auto validated = validate_produced_records(MutableByteView(bytes), broker_time);
    ASSERT_TRUE(validated.has_value()) << validated.error().message;
    EXPECT_EQ(validated->log_append_time, now);
    EXPECT_EQ(validated->max_timestamp, now);
    const RecordBatchView view = RecordBatchView::parse(bytes).value();
    EXPECT_TRUE(view.verify_crc());
    EXPECT_EQ(view.timestamp_type(), TimestampType::log_append_time);
    EXPECT_EQ(view.max_timestamp(), now);
  }
}

TEST(ProduceValidation, the_log_append_time_bit_of_a_client_is_cleared_or_refused) {
  Bytes bytes = batch(2, {.log_append_time = now + 7});
  ProduceRules broker_time = rules();
  broker_time.timestamp_type = TimestampType::log_append_time;
  EXPECT_EQ(outcome(bytes, broker_time), (Outcome{ErrorCode::invalid_timestamp, {0, 1}}));
  const auto validated = validate_produced_records(MutableByteView(bytes), rules());
  ASSERT_TRUE(validated.has_value());
  EXPECT_EQ(validated->max_timestamp, now + 7);
  EXPECT_EQ(RecordBatchView::parse(bytes)->timestamp_type(), TimestampType::create_time);
}

TEST(ProduceValidation, trusted_producers_skip_the_records) {
  Bytes bytes = batch();
  bytes[batch_format::records_at] = std::byte{0x7f};
  seal(bytes);
  EXPECT_EQ(outcome(bytes), invalid_record);
  ProduceRules trusted = rules();
  trusted.check_contents = false;
  EXPECT_EQ(outcome(bytes, trusted), Outcome{});
  bytes.back() ^= std::byte{1};
  EXPECT_EQ(outcome(bytes, trusted), corrupt);
}

// --- contents
// ---------------------------------------------------------------------------------------------------------

TEST(ProduceValidation, contents_that_nobody_can_decompress_are_invalid) {
  SeededRandom random(1);
  for (const int16_t codec : {1, 2, 3, 4, 5, 6, 7}) {
    for (int round = 0; round < 50; ++round) {
      Bytes bytes = batch(1);
      bytes.resize(batch_format::header_bytes);
      for (int i = 0; i < 60; ++i) bytes.push_back(static_cast<std::byte>(random.next()));
      store_big_endian<int32_t>(bytes.data() + batch_format::length_at,
                                static_cast<int32_t>(bytes.size() - 12));
      EXPECT_EQ(outcome(sealed_with(bytes, batch_format::attributes_at, codec)), invalid_record) << codec;
    }
  }
}

TEST(ProduceValidation, snappy_of_many_chunks_is_accepted) {
  RecordBatchBuilder builder({.compression = {Codec::snappy}});
  for (int i = 0; i < 80; ++i) builder.append(now, std::nullopt, Bytes(1024, static_cast<std::byte>(i)));
  EXPECT_EQ(outcome(builder.build()), Outcome{});
}

/// A record batch by hand, whose records have the given offset deltas.
Bytes batch_with_deltas(std::initializer_list<int32_t> deltas, Codec codec) {
  Bytes records;
  for (const int32_t delta : deltas) {
    Bytes body = {std::byte{0}};
    append_varlong(body, 0);
    append_varint(body, delta);
    for (const int32_t number : {-1, -1, 0}) append_varint(body, number);
    append_varint(records, static_cast<int32_t>(body.size()));
    records.insert(records.end(), body.begin(), body.end());
  }
  RecordBatchHeader header;
  header.attributes = static_cast<int16_t>(codec);
  header.record_count = static_cast<int32_t>(deltas.size());
  header.last_offset_delta = header.record_count - 1;
  const Bytes payload = compress({codec}, records);
  header.length =
      static_cast<int32_t>(batch_format::header_bytes + payload.size() - batch_format::log_overhead);
  Bytes bytes(batch_format::header_bytes);
  header.write(bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  seal(bytes);
  return bytes;
}

TEST(ProduceValidation, wrong_offset_deltas_are_stored_when_plain_and_refused_when_compressed) {
  for (const auto& deltas : {std::initializer_list<int32_t>{0, 2, 1}, {0, 0, 0}, {0, 5}, {-1}}) {
    EXPECT_EQ(outcome(batch_with_deltas(deltas, Codec::none)), Outcome{}) << "as Kafka does";
    for (const Codec codec : {Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
      EXPECT_EQ(outcome(batch_with_deltas(deltas, codec)), invalid_record);
    }
  }
}

TEST(ProduceValidation, flipped_bits_under_a_right_checksum_never_crash) {
  SeededRandom random(5);
  for (const Codec codec : all_codecs) {
    const Bytes good = batch(5, {.compression = {codec}});
    for (const bool rebuild : {false, true}) {
      ProduceRules with = rules();
      if (rebuild) with.target_compression = Compression{codec == Codec::lz4 ? Codec::gzip : Codec::lz4};
      for (int round = 0; round < 500; ++round) {
        Bytes damaged = good;
        for (uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
          const size_t at =
              batch_format::attributes_at + random.below(good.size() - batch_format::attributes_at);
          damaged[at] ^= static_cast<std::byte>(1 << random.below(8));
        }
        seal(damaged);
        const auto validated = validate_produced_records(MutableByteView(damaged), with);
        EXPECT_TRUE(!validated || validate_stored_batch(validated->bytes).has_value());
      }
    }
  }
}

// --- a topic with a codec of its own
// ----------------------------------------------------------------------------------

TEST(ProduceRebuild, records_are_kept_in_every_pair_of_codecs) {
  const Bytes large(150'000, std::byte{'x'});
  for (const Codec source : all_codecs) {
    for (const Codec target : all_codecs) {
      SCOPED_TRACE(std::string(to_string(source)) + " to " + std::string(to_string(target)));
      RecordBatchBuilder builder({.compression = {source},
                                  .producer_id = ProducerId{7},
                                  .producer_epoch = ProducerEpoch{1},
                                  .base_sequence = 3,
                                  .transactional = true});
      const RecordHeader headers[] = {{"h", as_byte_view("v")}, {"null", std::nullopt}};
      builder.append(now + 5, as_byte_view("key"), large, headers);
      builder.append(now, std::nullopt, as_byte_view("value"));
      builder.append(now + 9, as_byte_view("key"), std::nullopt, headers);
      Bytes bytes = builder.build();
      const Bytes before = bytes;
      ProduceRules with = rules();
      with.target_compression = Compression{target};
      const auto validated = validate_produced_records(MutableByteView(bytes), with);
      ASSERT_TRUE(validated.has_value()) << validated.error().message;
      EXPECT_EQ(bytes, before);
      EXPECT_EQ(validated->owned.empty(), source == target);
      EXPECT_EQ(validated->codec, target);
      EXPECT_EQ(validated->producer_id, ProducerId{7});
      EXPECT_EQ(validated->base_sequence, 3);
      EXPECT_TRUE(validated->transactional);
      EXPECT_EQ(validated->max_timestamp, now + 9);
      const RecordBatchView rebuilt = validate_stored_batch(validated->bytes).value();
      EXPECT_EQ(rebuilt.codec(), target);
      RecordReader reader(rebuilt);
      RecordView record;
      ASSERT_TRUE(reader.next(record).value());
      EXPECT_EQ(record.timestamp, now + 5);
      EXPECT_EQ(record.value()->size(), large.size());
      EXPECT_EQ(record.headers().size(), 2);
      ASSERT_TRUE(reader.next(record).value());
      EXPECT_EQ(record.offset, Offset{1});
      EXPECT_EQ(record.timestamp, now);
      EXPECT_EQ(as_text(*record.value()), "value");
      ASSERT_TRUE(reader.next(record).value());
      EXPECT_FALSE(record.value().has_value());
      EXPECT_FALSE(reader.next(record).value());
    }
  }
}

TEST(ProduceRebuild, snappy_of_the_broker_has_javas_header_in_big_endian) {
  Bytes bytes = batch();
  ProduceRules with = rules();
  with.target_compression = Compression{Codec::snappy};
  const auto validated = validate_produced_records(MutableByteView(bytes), with);
  EXPECT_EQ(test::to_hex(validated->bytes.subspan(batch_format::records_at, 16)),
            "82534e41505059000000000100000001");
}

TEST(ProduceRebuild, the_size_limit_counts_for_the_result) {
  SeededRandom random(2);
  Bytes noise(30'000);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next());
  ProduceRules with = rules();
  with.max_message_bytes = 20'000;
  with.target_compression = Compression{Codec::none};
  EXPECT_EQ(
      outcome(single_record_batch(now, std::nullopt, Bytes(30'000), {.compression = {Codec::gzip}}), with),
      (Outcome{ErrorCode::message_too_large, {}}));
  with.target_compression = Compression{Codec::gzip};
  EXPECT_EQ(outcome(single_record_batch(now, std::nullopt, noise), with),
            (Outcome{ErrorCode::message_too_large, {}}));
}

TEST(ProduceRebuild, wrong_offset_deltas_are_set_right) {
  for (const Codec source : {Codec::none, Codec::gzip}) {
    Bytes bytes = batch_with_deltas({0, 5, 1}, source);
    ProduceRules with = rules();
    with.target_compression = Compression{Codec::zstd};
    const auto validated = validate_produced_records(MutableByteView(bytes), with);
    ASSERT_TRUE(validated.has_value());
    RecordReader reader(RecordBatchView::parse(validated->bytes).value());
    RecordView record;
    for (int64_t offset = 0; reader.next(record).value(); ++offset) EXPECT_EQ(record.offset, Offset{offset});
  }
}

TEST(ProduceRebuild, keys_and_times_are_checked_all_the_same) {
  ProduceRules with = rules();
  with.target_compression = Compression{Codec::lz4};
  EXPECT_EQ(outcome(batch(2, {}, now + day), with), (Outcome{ErrorCode::invalid_timestamp, {0, 1}}));
  with.compacted = true;
  EXPECT_EQ(outcome(single_record_batch(now, std::nullopt, std::nullopt), with),
            (Outcome{ErrorCode::invalid_record, {0}}));
  with.timestamp_type = TimestampType::log_append_time;
  Bytes bytes = batch(2, {}, now + day);
  const auto validated = validate_produced_records(MutableByteView(bytes), with);
  ASSERT_TRUE(validated.has_value());
  EXPECT_EQ(validated->max_timestamp, now);
  EXPECT_EQ(validated->log_append_time, now);
  EXPECT_EQ(RecordBatchView::parse(validated->bytes)->base_timestamp(), now + day);
}

}  // namespace
}  // namespace barnabas::protocol
