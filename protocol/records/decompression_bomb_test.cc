// Small batches with enormous contents: what they cost in memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "protocol/compression/compressor.h"
#include "protocol/records/produce_validation.h"
#include "protocol/records/record_reader.h"
#include "protocol/records/test_support.h"
#include "protocol/records/varint.h"

namespace barnabas::protocol {
namespace {

using test::Bytes;

constexpr TimestampMs now{1'700'000'000'000};

ProduceRules rules() {
  ProduceRules rules;
  rules.now = now;
  // The content's zeros are a timestamp of 1970, which is allowed; the size is not to matter.
  rules.max_message_bytes = INT32_MAX;
  return rules;
}

ErrorCode error_of(Bytes bytes, const ProduceRules& with) {
  const auto validated = validate_produced_records(MutableByteView(bytes), with);
  return validated ? ErrorCode::none : validated.error().error;
}
// ------------------------------------------------------------------------------------------------------------

/// One record with a value of zeros, compressed in a stream.
Bytes bomb(Codec codec, int32_t value_bytes) {
  Bytes bytes(batch_format::header_bytes);
  CompressionStream stream({codec});
  Bytes prefix = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}};  // attributes, deltas, null key
  append_varint(prefix, value_bytes);
  Bytes length;
  append_varint(length, static_cast<int32_t>(prefix.size()) + value_bytes + 1);
  stream.write(length, bytes);
  stream.write(prefix, bytes);
  const Bytes zeros(1 << 20);
  for (int32_t left = value_bytes; left > 0; left -= 1 << 20) {
    stream.write(ByteView(zeros).first(static_cast<size_t>(std::min(left, 1 << 20))), bytes);
  }
  stream.write(ByteView(zeros).first(1), bytes);
  stream.finish(bytes);
  RecordBatchHeader header;
  header.attributes = static_cast<int16_t>(codec);
  header.record_count = 1;
  header.length = static_cast<int32_t>(bytes.size() - batch_format::log_overhead);
  header.write(bytes);
  seal(bytes);
  return bytes;
}

int64_t kilobytes_of(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(line.find(':') + 1));
  }
  return -1;
}

/// The most memory that the process held during `work`, above what it held before, in MB; nothing if the
/// kernel does not let itself be asked.
template <class Work>
std::optional<int64_t> peak_growth_mb(Work work) {
  std::ofstream reset("/proc/self/clear_refs");
  reset << 5;
  reset.close();
  if (!reset) return std::nullopt;
  const int64_t before = kilobytes_of("VmRSS");
  work();
  return (kilobytes_of("VmHWM") - before) / 1024;
}

TEST(DecompressionBomb, a_gigabyte_passes_in_a_few_megabytes) {
  for (const auto& [codec, megabytes] :
       {std::pair{Codec::zstd, 1024}, {Codec::gzip, 256}, {Codec::lz4, 256}, {Codec::snappy, 128}}) {
    Bytes bytes = bomb(codec, megabytes << 20);
    ProduceRules with = rules();
    const auto growth = peak_growth_mb([&] {
      const auto validated = validate_produced_records(MutableByteView(bytes), with);
      EXPECT_TRUE(validated.has_value()) << validated.error().message;
    });
    if (!growth) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
    EXPECT_LT(*growth, 10) << to_string(codec);
  }
}

TEST(DecompressionBomb, one_raw_snappy_block_passes_in_a_few_megabytes) {
  // One literal with the start of the record, then copies of 64 bytes each.
  Bytes raw = bomb(Codec::snappy, 1);
  raw.resize(batch_format::header_bytes);
  Bytes record = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}};
  const int32_t value_bytes = 200 << 20;
  append_varint(record, value_bytes);
  Bytes first;
  append_varint(first, static_cast<int32_t>(record.size()) + value_bytes + 1);
  first.insert(first.end(), record.begin(), record.end());
  first.push_back(std::byte{0});
  const uint64_t total = first.size() + static_cast<uint64_t>(value_bytes);
  for (uint64_t left = total;; left >>= 7) {
    raw.push_back(static_cast<std::byte>(left < 0x80 ? left : (left & 0x7f) | 0x80));
    if (left < 0x80) break;
  }
  raw.push_back(static_cast<std::byte>((first.size() - 1) << 2));
  raw.insert(raw.end(), first.begin(), first.end());
  for (int32_t left = value_bytes; left > 0; left -= 64) {
    raw.push_back(std::byte{0xfe});
    raw.push_back(std::byte{1});
    raw.push_back(std::byte{0});
  }
  store_big_endian<int32_t>(raw.data() + batch_format::length_at, static_cast<int32_t>(raw.size() - 12));
  seal(raw);
  ProduceRules with = rules();
  const auto growth =
      peak_growth_mb([&] { EXPECT_TRUE(validate_produced_records(MutableByteView(raw), with).has_value()); });
  if (!growth) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
  EXPECT_LT(*growth, 10);
}

TEST(DecompressionBomb, rebuilding_holds_no_more_than_the_result) {
  Bytes bytes = bomb(Codec::zstd, 256 << 20);
  ProduceRules with = rules();
  with.target_compression = Compression{Codec::lz4};
  with.max_message_bytes = 1'000'000;
  const auto growth = peak_growth_mb([&] {
    EXPECT_EQ(validate_produced_records(MutableByteView(bytes), with).error().error,
              ErrorCode::message_too_large);
  });
  if (!growth) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
#ifdef __SANITIZE_ADDRESS__
  constexpr int allowed_mb = 256;  // freed memory stays in quarantine
#else
  constexpr int allowed_mb = 16;
#endif
  EXPECT_LT(*growth, allowed_mb);
}

TEST(DecompressionBomb, a_record_above_the_topics_limit_is_invalid_at_once) {
  ProduceRules with = rules();
  with.max_decompressed_message_bytes = 1'000'000;
  for (const Codec codec : {Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
    EXPECT_EQ(error_of(bomb(codec, 16 << 20), with), ErrorCode::invalid_record);
    EXPECT_EQ(error_of(bomb(codec, 900'000), with), ErrorCode::none);
  }
}

TEST(DecompressionBomb, time_lookups_pass_over_it_too) {
  const Bytes bytes = bomb(Codec::zstd, 256 << 20);
  const auto growth = peak_growth_mb([&] {
    const auto found = find_first_record_at_or_after(RecordBatchView::parse(bytes).value(), TimestampMs{0});
    EXPECT_EQ(found.value()->offset, Offset{0});
  });
  if (!growth) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
  EXPECT_LT(*growth, 10);
}

}  // namespace
}  // namespace barnabas::protocol
