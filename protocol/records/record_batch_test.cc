#include "protocol/records/record_batch.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/crc32c.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/test_support.h"

namespace barnabas::protocol {
namespace {

using test::Bytes;
using Step = BatchIterator::Step;

Bytes batch(int records = 1, Offset base = Offset{0}) {
  RecordBatchBuilder builder({.base_offset = base});
  for (int i = 0; i < records; ++i)
    builder.append(TimestampMs{1000 + i}, as_byte_view("key"), as_byte_view("value"));
  return builder.build();
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes first(Bytes bytes, size_t size) {
  bytes.resize(size);
  return bytes;
}

template <class T>
Bytes with(Bytes bytes, size_t at, T value) {
  store_big_endian<T>(bytes.data() + at, value);
  return bytes;
}

TEST(RecordBatchHeader, what_is_written_is_read_back) {
  const RecordBatchHeader header{.base_offset = Offset{0x0102030405060708},
                                 .length = 49,
                                 .partition_leader_epoch = LeaderEpoch{0x11121314},
                                 .crc = 0xfffefdfc,
                                 .attributes = 0x7a,
                                 .last_offset_delta = 0x21222324,
                                 .base_timestamp = TimestampMs{-2},
                                 .max_timestamp = TimestampMs{0x3132333435363738},
                                 .producer_id = ProducerId{0x4142434445464748},
                                 .producer_epoch = ProducerEpoch{0x5152},
                                 .base_sequence = 0x61626364,
                                 .record_count = 0x71727374};
  Bytes bytes(batch_format::header_bytes);
  header.write(bytes);
  EXPECT_EQ(RecordBatchHeader::parse(bytes).value(), header);
  EXPECT_EQ(test::to_hex(bytes),
            "0102030405060708"
            "00000031"
            "11121314"
            "02"
            "fffefdfc"
            "007a"
            "21222324"
            "fffffffffffffffe"
            "3132333435363738"
            "4142434445464748"
            "5152"
            "61626364"
            "71727374");
  EXPECT_EQ(header.codec(), Codec::snappy);
  EXPECT_TRUE(header.is_transactional() && header.is_control() && header.delete_horizon().has_value());
  EXPECT_EQ(header.timestamp_type(), TimestampType::log_append_time);
}

TEST(RecordBatchHeader, sequences_wrap_from_the_largest_to_zero) {
  EXPECT_EQ(sequence_plus(INT32_MAX, 1), 0);
  EXPECT_EQ(sequence_plus(INT32_MAX - 1, 5), 3);
  EXPECT_EQ(sequence_plus(7, 3), 10);
  EXPECT_EQ((RecordBatchHeader{.last_offset_delta = 4}.last_sequence()), no_sequence);
  EXPECT_EQ((RecordBatchHeader{.last_offset_delta = 4, .base_sequence = INT32_MAX}.last_sequence()), 3);
}

TEST(RecordBatchView, refuses_what_is_no_whole_batch) {
  const Bytes good = batch();
  EXPECT_TRUE(RecordBatchView::parse(good).has_value());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(RecordBatchView::parse(first(good, size)).has_value());
  for (const int32_t length : {-1, 0, 13, 48, INT32_MIN, INT32_MAX}) {
    EXPECT_FALSE(RecordBatchView::parse(with(good, batch_format::length_at, length)).has_value()) << length;
  }
  for (const int8_t magic : {0, 1}) {
    const auto old = RecordBatchView::parse(with(good, batch_format::magic_at, magic));
    EXPECT_EQ(old.error().kind, ErrorKind::unsupported);
  }
  for (const int8_t magic : {-1, 3, 127, -128}) {
    EXPECT_EQ(RecordBatchView::parse(with(good, batch_format::magic_at, magic)).error().kind,
              ErrorKind::corrupt);
  }
}

TEST(RecordBatchView, leaves_out_what_follows) {
  const Bytes good = batch();
  EXPECT_EQ(RecordBatchView::parse(joined({good, Bytes(9)}))->size_bytes(), good.size());
}

TEST(StoredBatch, every_flipped_bit_behind_the_checksum_is_found) {
  const Bytes good = batch(3, Offset{5});
  ASSERT_TRUE(validate_stored_batch(good).has_value());
  for (size_t bit = batch_format::crc_at * 8; bit < good.size() * 8; ++bit) {
    Bytes damaged = good;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    EXPECT_FALSE(validate_stored_batch(damaged).has_value()) << bit;
  }
}

TEST(StoredBatch, insane_offset_ranges_are_refused_though_the_checksum_fits) {
  const auto sealed = [](Bytes bytes) {
    seal(bytes);
    return bytes;
  };
  const Bytes good = batch();
  EXPECT_FALSE(
      validate_stored_batch(sealed(with<int64_t>(good, batch_format::base_offset_at, -1))).has_value());
  EXPECT_FALSE(validate_stored_batch(sealed(with<int64_t>(good, batch_format::base_offset_at, INT64_MAX)))
                   .has_value());
  EXPECT_FALSE(validate_stored_batch(sealed(with(good, batch_format::last_offset_delta_at, -1))).has_value());
  EXPECT_FALSE(validate_stored_batch(sealed(with(good, batch_format::record_count_at, -1))).has_value());
  EXPECT_TRUE(validate_stored_batch(sealed(with(good, batch_format::last_offset_delta_at, 9))).has_value());
}

// CRC-32C is linear: among all values of four bytes at the end there is one for each checksum.
Bytes batch_with_checksum_zero() {
  Bytes bytes = single_record_batch(TimestampMs{1}, std::nullopt, as_byte_view("value of a record...."));
  // The last four bytes of the value, in front of the header count.
  const size_t at = bytes.size() - 5;
  const auto crc_of = [&](uint32_t suffix) {
    store_big_endian<uint32_t>(bytes.data() + at, suffix);
    return crc32c(ByteView(bytes).subspan(batch_format::crc_from));
  };
  // Which suffix bits flip which checksum bits, solved by elimination.
  const uint32_t base = crc_of(0);
  uint32_t rows[32], combinations[32];
  for (int bit = 0; bit < 32; ++bit) {
    rows[bit] = crc_of(1U << bit) ^ base;
    combinations[bit] = 1U << bit;
  }
  uint32_t wanted = base, suffix = 0;
  for (int bit = 31; bit >= 0; --bit) {
    int pivot = -1;
    for (int row = 0; row < 32; ++row) {
      if (static_cast<int>(std::bit_width(rows[row])) == bit + 1) pivot = row;
    }
    if (pivot < 0) continue;
    for (int row = 0; row < 32; ++row) {
      if (row == pivot || (rows[row] >> bit & 1) == 0) continue;
      rows[row] ^= rows[pivot];
      combinations[row] ^= combinations[pivot];
    }
    if ((wanted >> bit & 1) == 0) continue;
    wanted ^= rows[pivot];
    suffix ^= combinations[pivot];
  }
  EXPECT_EQ(crc_of(suffix), 0U);
  seal(bytes);
  return bytes;
}

TEST(StoredBatch, a_checksum_of_zero_is_a_checksum) {
  const Bytes bytes = batch_with_checksum_zero();
  ASSERT_EQ(RecordBatchView::parse(bytes)->crc(), 0U);
  EXPECT_TRUE(validate_stored_batch(bytes).has_value());
  BatchIterator batches(bytes);
  EXPECT_EQ(batches.next(), Step::batch);
  EXPECT_EQ(batches.next(), Step::end);
}

TEST(Patching, base_offset_and_leader_epoch_lie_outside_of_the_checksum) {
  Bytes bytes = batch(3);
  const uint32_t crc = RecordBatchView::parse(bytes)->crc();
  set_base_offset(bytes, Offset{77});
  set_partition_leader_epoch(bytes, LeaderEpoch{5});
  const RecordBatchView view = RecordBatchView::parse(bytes).value();
  EXPECT_EQ(view.base_offset(), Offset{77});
  EXPECT_EQ(view.last_offset(), Offset{79});
  EXPECT_EQ(view.next_offset(), Offset{80});
  EXPECT_EQ(view.partition_leader_epoch(), LeaderEpoch{5});
  EXPECT_EQ(view.crc(), crc);
  EXPECT_TRUE(view.verify_crc());
}

TEST(Patching, timestamps_get_a_new_checksum_only_when_they_change) {
  Bytes bytes = batch(3);
  EXPECT_FALSE(set_timestamps(bytes, TimestampType::create_time, TimestampMs{1002}));
  EXPECT_TRUE(set_timestamps(bytes, TimestampType::log_append_time, TimestampMs{5000}));
  RecordBatchView view = RecordBatchView::parse(bytes).value();
  EXPECT_TRUE(view.verify_crc());
  EXPECT_EQ(view.timestamp_type(), TimestampType::log_append_time);
  EXPECT_EQ(view.max_timestamp(), TimestampMs{5000});
  EXPECT_TRUE(set_timestamps(bytes, TimestampType::create_time, TimestampMs{1002}));
  EXPECT_EQ(bytes, batch(3));
}

TEST(Patching, unused_attribute_bits_go_only_when_the_attributes_are_written) {
  Bytes bytes = with<int16_t>(batch(1), batch_format::attributes_at, static_cast<int16_t>(0xff50));
  seal(bytes);
  EXPECT_FALSE(set_timestamps(bytes, TimestampType::create_time, TimestampMs{1000}));
  EXPECT_EQ(RecordBatchView::parse(bytes)->attributes(), static_cast<int16_t>(0xff50));
  EXPECT_TRUE(set_timestamps(bytes, TimestampType::create_time, TimestampMs{1001}));
  EXPECT_EQ(RecordBatchView::parse(bytes)->attributes(), 0x50);
}

TEST(BatchIterator, walks_over_whole_batches_and_stops_at_a_torn_tail) {
  const Bytes a = batch(1), b = batch(2, Offset{1}), c = batch(1, Offset{3});
  const Bytes all = joined({a, b, c});
  for (size_t size = a.size() + b.size(); size <= all.size(); ++size) {
    const Bytes bytes = first(all, size);
    BatchIterator batches(bytes);
    EXPECT_EQ(batches.next(), Step::batch);
    EXPECT_EQ(batches.batch().base_offset(), Offset{0});
    EXPECT_EQ(batches.next(), Step::batch);
    EXPECT_EQ(batches.batch().base_offset(), Offset{1});
    EXPECT_EQ(batches.position(), a.size());
    const Step last = size == all.size() ? Step::batch : size == a.size() + b.size() ? Step::end : Step::torn;
    EXPECT_EQ(batches.next(), last) << size;
    EXPECT_EQ(batches.position(), a.size() + b.size());
    if (last == Step::torn) {
      EXPECT_EQ(batches.remaining().size(), size - a.size() - b.size());
      EXPECT_EQ(batches.next(), Step::torn) << "it stays where it is";
    }
  }
}

TEST(BatchIterator, tells_preallocated_space_and_damage_apart) {
  const Bytes good = batch();
  const auto after_good = [&](const Bytes& tail) {
    const Bytes bytes = joined({good, tail});
    BatchIterator batches(bytes);
    EXPECT_EQ(batches.next(), Step::batch);
    return batches.next();
  };
  EXPECT_EQ(after_good(Bytes(4096)), Step::zero_length);
  EXPECT_EQ(after_good(Bytes(12)), Step::zero_length);
  EXPECT_EQ(after_good(Bytes(11)), Step::torn);
  EXPECT_EQ(after_good(with(good, batch_format::length_at, 13)), Step::corrupt_length);
  EXPECT_EQ(after_good(with(good, batch_format::length_at, 48)), Step::corrupt_length);
  EXPECT_EQ(after_good(with(good, batch_format::length_at, -5)), Step::corrupt_length);
  EXPECT_EQ(after_good(with(good, batch_format::length_at, INT32_MAX)), Step::corrupt_length);
  EXPECT_EQ(after_good(with(good, batch_format::length_at, 1 << 20)), Step::torn);
  EXPECT_EQ(after_good(with<int8_t>(good, batch_format::magic_at, 3)), Step::unknown_magic);
  EXPECT_EQ(after_good(with<int8_t>(good, batch_format::magic_at, 1)), Step::old_message);
}

TEST(BatchIterator, believes_no_length_above_the_given_limit) {
  const Bytes good = batch();
  BatchIterator exact(good, good.size());
  EXPECT_EQ(exact.next(), Step::batch);
  BatchIterator limited(good, good.size() - 1);
  EXPECT_EQ(limited.next(), Step::corrupt_length);
}

}  // namespace
}  // namespace barnabas::protocol
