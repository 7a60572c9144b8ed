#include "protocol/records/record_reader.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "protocol/compression/compressor.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/test_support.h"
#include "protocol/records/varint.h"

namespace barnabas::protocol {
namespace {

using test::Bytes;

constexpr Codec all_codecs[] = {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd};

struct Item {
  int64_t offset;
  int64_t timestamp;
  std::optional<std::string> key, value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  bool operator==(const Item&) const = default;
};

std::optional<ByteView> view(const std::optional<std::string>& text) {
  return text ? std::optional(as_byte_view(*text)) : std::nullopt;
}
std::optional<std::string> text(std::optional<ByteView> bytes) {
  return bytes ? std::optional(std::string(as_text(*bytes))) : std::nullopt;
}

Bytes build(const std::vector<Item>& items, RecordBatchOptions options) {
  RecordBatchBuilder builder(options);
  for (const Item& item : items) {
    std::vector<RecordHeader> headers;
    for (const auto& [key, value] : item.headers) headers.push_back({key, view(value)});
    builder.append_at(Offset{item.offset}, TimestampMs{item.timestamp}, view(item.key), view(item.value),
                      headers);
  }
  return builder.build();
}

Result<std::vector<Item>> read(const Bytes& bytes, RecordReaderOptions options = {}) {
  RecordReader reader(RecordBatchView::parse(bytes).value(), options);
  std::vector<Item> items;
  RecordView record;
  for (;;) {
    BARNABAS_ASSIGN(const bool more, reader.next(record));
    if (!more) return items;
    Item item{record.offset.value(), record.timestamp.value(), text(record.key()), text(record.value()), {}};
    for (const RecordHeader& header : record.headers())
      item.headers.emplace_back(header.key, text(header.value));
    items.push_back(item);
  }
}

std::vector<Item> random_items(uint64_t seed, size_t count, size_t size_max) {
  SeededRandom random(seed);
  const auto bytes = [&]() -> std::optional<std::string> {
    if (random.one_in(8)) return std::nullopt;
    return std::string(random.below(size_max + 1), static_cast<char>('a' + random.below(26)));
  };
  std::vector<Item> items;
  int64_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    Item item{offset, static_cast<int64_t>(random.below(1'000'000)) - 1000, bytes(), bytes(), {}};
    for (uint64_t headers = random.one_in(3) ? random.below(4) : 0; headers > 0; --headers) {
      item.headers.emplace_back(bytes().value_or(""), bytes());
    }
    items.push_back(item);
    offset += 1 + static_cast<int64_t>(random.one_in(5) ? random.below(1000) : 0);
  }
  return items;
}

TEST(RecordReader, gives_back_what_was_built_in_every_codec) {
  for (const Codec codec : all_codecs) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const auto items = random_items(seed, 1 + seed * 7, seed % 3 == 0 ? 40000 : 100);
      const Bytes bytes = build(items, {.compression = {codec, {}}});
      EXPECT_EQ(read(bytes).value(), items) << to_string(codec) << " seed " << seed;
    }
  }
}

TEST(RecordReader, records_larger_than_the_buffer_are_given_whole_or_skipped) {
  const std::string large(300'000, 'x');
  const std::vector<Item> items = {{0, 5, "k", large, {{"h", large}, {"null", std::nullopt}}},
                                   {1, 6, large, std::nullopt, {}},
                                   {2, 7, std::nullopt, "small", {}}};
  for (const Codec codec : all_codecs) {
    const Bytes bytes = build(items, {.compression = {codec, {}}});
    EXPECT_EQ(read(bytes).value(), items) << to_string(codec);
    RecordReader reader(RecordBatchView::parse(bytes).value(), {.mode = ReadMode::structure});
    RecordView record;
    ASSERT_TRUE(reader.next(record).value());
    EXPECT_EQ(record.has_contents, codec == Codec::none);
    EXPECT_EQ(record.key_bytes, 1);
    EXPECT_EQ(record.value_bytes, 300'000);
    EXPECT_EQ(record.header_count, 2);
    EXPECT_EQ(record.timestamp, TimestampMs{5});
    ASSERT_TRUE(reader.next(record).value());
    EXPECT_EQ(record.key_bytes, 300'000);
    EXPECT_EQ(record.value_bytes, -1);
    ASSERT_TRUE(reader.next(record).value());
    EXPECT_TRUE(record.has_contents);
    EXPECT_EQ(text(record.value()), "small");
    EXPECT_FALSE(reader.next(record).value());
  }
}

TEST(RecordReader, a_compressed_record_above_the_limit_is_refused) {
  const Bytes bytes = build({{0, 5, "k", std::string(1000, 'x'), {}}}, {.compression = {Codec::zstd, {}}});
  EXPECT_EQ(read(bytes, {.record_bytes_max = 900}).error().kind, ErrorKind::too_large);
  EXPECT_TRUE(read(bytes, {.record_bytes_max = 2000}).has_value());
  const Bytes plain = build({{0, 5, "k", std::string(1000, 'x'), {}}}, {});
  EXPECT_TRUE(read(plain, {.record_bytes_max = 900}).has_value()) << "a plain record is bounded by its batch";
}

TEST(RecordReader, every_record_of_a_log_append_time_batch_has_the_batch_time) {
  const Bytes bytes =
      build({{0, 5, "a", "b", {}}, {1, 9, "c", "d", {}}}, {.log_append_time = TimestampMs{77}});
  const auto items = read(bytes).value();
  ASSERT_EQ(items.size(), 2U);
  for (const Item& item : items) EXPECT_EQ(item.timestamp, 77);
}

TEST(RecordReader, an_error_stays) {
  Bytes bytes = build({{0, 5, "a", "b", {}}}, {});
  store_big_endian<int32_t>(bytes.data() + batch_format::record_count_at, 2);
  RecordReader reader(RecordBatchView::parse(bytes).value());
  RecordView record;
  EXPECT_TRUE(reader.next(record).value());
  EXPECT_EQ(reader.next(record).error().kind, ErrorKind::invalid_record);
  EXPECT_EQ(reader.next(record).error().kind, ErrorKind::invalid_record);
}

TEST(RecordReader, unknown_codecs_are_unsupported) {
  Bytes bytes = build({{0, 5, "a", "b", {}}}, {});
  for (const int16_t id : {5, 6, 7}) {
    store_big_endian<int16_t>(bytes.data() + batch_format::attributes_at, id);
    EXPECT_EQ(read(bytes).error().kind, ErrorKind::unsupported);
  }
}

// --- hostile contents
// -------------------------------------------------------------------------------------------------

/// A batch with the given bytes as its records, in each codec.
Bytes batch_of(const Bytes& records, int32_t count, Codec codec) {
  RecordBatchHeader header;
  header.attributes = static_cast<int16_t>(codec);
  header.record_count = count;
  header.last_offset_delta = count - 1;
  const Bytes payload = compress({codec, {}}, records);
  header.length =
      static_cast<int32_t>(batch_format::header_bytes + payload.size() - batch_format::log_overhead);
  Bytes bytes(batch_format::header_bytes);
  header.write(bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  seal(bytes);
  return bytes;
}

/// One record with the given parts as raw numbers and bytes; `pad` makes it larger than any buffer.
Bytes record_of(std::initializer_list<int64_t> numbers, size_t pad) {
  Bytes body = {std::byte{0}};
  for (const int64_t number : numbers) append_varlong(body, number);
  Bytes record;
  append_varint(record, static_cast<int32_t>(body.size() + pad));
  record.insert(record.end(), body.begin(), body.end());
  record.resize(record.size() + pad);
  return record;
}

TEST(RecordReader, lengths_that_do_not_fit_are_refused_in_small_and_large_records) {
  for (const Codec codec : all_codecs) {
    for (const ReadMode mode : {ReadMode::contents, ReadMode::structure}) {
      for (const size_t pad : {size_t{0}, size_t{200'000}}) {
        SCOPED_TRACE(std::string(to_string(codec)) + " pad " + std::to_string(pad));
        const auto refused = [&](std::initializer_list<int64_t> numbers) {
          const auto result = read(batch_of(record_of(numbers, pad), 1, codec), {.mode = mode});
          return !result && result.error().kind == ErrorKind::invalid_record;
        };
        const auto large = static_cast<int64_t>(pad) + 1000;
        EXPECT_TRUE(refused({0, 0, large, -1, 0})) << "key";
        EXPECT_TRUE(refused({0, 0, -1, large, 0})) << "value";
        EXPECT_TRUE(refused({0, 0, INT32_MAX, INT32_MAX, 0})) << "both";
        EXPECT_TRUE(refused({0, 0, -1, -1, -1})) << "header count";
        EXPECT_TRUE(refused({0, 0, -1, -1, INT32_MAX})) << "header count";
        EXPECT_TRUE(refused({0, 0, -1, -1, 1, -1, -1})) << "header key null";
        EXPECT_TRUE(refused({0, 0, -1, -1, 1, large, -1})) << "header key";
        EXPECT_TRUE(refused({0, 0, -1, -1, 1, 0, large})) << "header value";
        EXPECT_TRUE(refused({0, 0, -1})) << "ends early, or bytes left over";
        EXPECT_EQ(refused({0, 0, -1, -1, 0}), pad > 0) << "bytes left over";
      }
    }
  }
}

TEST(RecordReader, every_truncation_and_extension_of_the_records_is_refused) {
  Bytes records;
  for (int i = 0; i < 3; ++i) {
    const Bytes record = record_of({i, i, -1, -1, 0}, 0);
    records.insert(records.end(), record.begin(), record.end());
  }
  for (const Codec codec : all_codecs) {
    EXPECT_TRUE(read(batch_of(records, 3, codec)).has_value());
    EXPECT_FALSE(read(batch_of(records, 2, codec)).has_value());
    EXPECT_FALSE(read(batch_of(records, 4, codec)).has_value());
    EXPECT_FALSE(read(batch_of(records, INT32_MAX, codec)).has_value());
    EXPECT_FALSE(read(batch_of(records, -1, codec)).has_value());
    for (size_t size = 0; size < records.size(); ++size) {
      EXPECT_FALSE(read(
          batch_of(Bytes(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(size)), 3, codec)));
    }
    Bytes more = records;
    more.push_back(std::byte{0});
    EXPECT_FALSE(read(batch_of(more, 3, codec)).has_value());
  }
}

TEST(RecordReader, a_claimed_length_of_two_gib_costs_no_memory) {
  Bytes record;
  append_varint(record, 2147483000);
  record.resize(100);
  for (const Codec codec : all_codecs) {
    for (const ReadMode mode : {ReadMode::contents, ReadMode::structure}) {
      EXPECT_EQ(read(batch_of(record, 1, codec), {.mode = mode}).error().kind, ErrorKind::invalid_record);
    }
  }
}

TEST(RecordReader, flipped_bits_never_crash_and_both_modes_agree) {
  SeededRandom random(3);
  for (const Codec codec : all_codecs) {
    const Bytes good = build(random_items(5, 20, 50), {.compression = {codec, {}}});
    for (int round = 0; round < 1000; ++round) {
      Bytes damaged = good;
      for (uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
        const size_t at =
            batch_format::attributes_at + random.below(good.size() - batch_format::attributes_at);
        damaged[at] ^= static_cast<std::byte>(1 << random.below(8));
      }
      const auto contents = read(damaged);
      RecordReader reader(RecordBatchView::parse(damaged).value(), {.mode = ReadMode::structure});
      RecordView record;
      Result<bool> more = true;
      size_t count = 0;
      while ((more = reader.next(record)).has_value() && *more) ++count;
      EXPECT_EQ(more.has_value(), contents.has_value());
      EXPECT_TRUE(!contents || count == contents->size());
    }
  }
}

// --- look-ups
// ---------------------------------------------------------------------------------------------------------

std::optional<OffsetAndTimestamp> at_or_after(const Bytes& bytes, int64_t time, int64_t from = 0) {
  return find_first_record_at_or_after(RecordBatchView::parse(bytes).value(), TimestampMs{time}, Offset{from})
      .value();
}

TEST(TimestampLookup, finds_the_first_record_that_is_not_older) {
  for (const Codec codec : all_codecs) {
    const Bytes bytes =
        build({{10, 2, "k", "v", {}}, {11, 4, "k", "v", {}}, {12, 6, "k", "v", {}}, {13, 8, "k", "v", {}}},
              {.compression = {codec, {}}, .base_offset = Offset{10}});
    using Found = OffsetAndTimestamp;
    EXPECT_EQ(at_or_after(bytes, 0), (Found{Offset{10}, TimestampMs{2}}));
    EXPECT_EQ(at_or_after(bytes, 3), (Found{Offset{11}, TimestampMs{4}}));
    EXPECT_EQ(at_or_after(bytes, 8), (Found{Offset{13}, TimestampMs{8}}));
    EXPECT_EQ(at_or_after(bytes, 9), std::nullopt);
    EXPECT_EQ(at_or_after(bytes, 0, 12), (Found{Offset{12}, TimestampMs{6}}));
    EXPECT_EQ(at_or_after(bytes, 0, 14), std::nullopt);
  }
}

TEST(TimestampLookup, times_that_go_down_by_more_than_32_bits_are_compared_right) {
  const int64_t now = 1'700'000'000'000, day = 86'400'000;
  const Bytes bytes = build({{0, now, "k", "v", {}},
                             {1, now - 100 * day, "k", "v", {}},
                             {2, now - 50 * day, "k", "v", {}},
                             {3, now + 90 * day, "k", "v", {}}},
                            {});
  EXPECT_EQ(at_or_after(bytes, now - 100 * day)->offset, Offset{0});
  EXPECT_EQ(at_or_after(bytes, now - 60 * day, 1)->offset, Offset{2});
  EXPECT_EQ(at_or_after(bytes, now + 1)->offset, Offset{3});
  EXPECT_EQ(at_or_after(bytes, now + 91 * day), std::nullopt);
}

TEST(TimestampLookup, a_log_append_time_batch_answers_with_its_first_record) {
  const Bytes bytes = build({{5, 1, "k", "v", {}}, {6, 2, "k", "v", {}}},
                            {.base_offset = Offset{5}, .log_append_time = TimestampMs{1000}});
  EXPECT_EQ(at_or_after(bytes, 1000), (OffsetAndTimestamp{Offset{5}, TimestampMs{1000}}));
  EXPECT_EQ(at_or_after(bytes, 1001), std::nullopt);
}

TEST(TimestampLookup, the_largest_time_is_found_at_its_first_record) {
  const auto largest = [](const Bytes& bytes) {
    return find_max_timestamp_record(RecordBatchView::parse(bytes).value()).value();
  };
  const Bytes bytes =
      build({{0, 5, "k", "v", {}}, {1, 9, "k", "v", {}}, {2, 9, "k", "v", {}}, {3, 1, "k", "v", {}}}, {});
  EXPECT_EQ(largest(bytes), (OffsetAndTimestamp{Offset{1}, TimestampMs{9}}));
  EXPECT_EQ(largest(RecordBatchBuilder().build()), std::nullopt);
}

TEST(RecordBatchBuilder, keeps_gaps_and_a_last_offset_beyond_its_records) {
  RecordBatchBuilder builder({.base_offset = Offset{100}});
  builder.append_at(Offset{103}, TimestampMs{1}, std::nullopt, std::nullopt);
  builder.append(TimestampMs{2}, std::nullopt, std::nullopt);
  builder.set_last_offset(Offset{109});
  const Bytes bytes = builder.build();
  EXPECT_EQ(RecordBatchView::parse(bytes)->last_offset(), Offset{109});
  const auto items = read(bytes).value();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].offset, 103);
  EXPECT_EQ(items[1].offset, 104);
}

TEST(RecordBatchBuilder, timestamps_of_all_sizes_survive) {
  for (const int64_t time : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
    EXPECT_EQ(read(build({{0, 7, "k", "v", {}}, {1, time, "k", "v", {}}}, {})).value()[1].timestamp, time);
  }
}

}  // namespace
}  // namespace barnabas::protocol
