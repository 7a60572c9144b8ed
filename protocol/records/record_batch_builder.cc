#include "protocol/records/record_batch_builder.h"

#include <algorithm>

#include "base/assert.h"
#include "protocol/records/varint.h"

namespace barnabas::protocol {
namespace {

using namespace batch_format;

int64_t wrapping_difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

void append_bytes(std::vector<std::byte>& out, ByteView bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

int32_t checked_size(size_t size) {
  BARNABAS_ASSERT(size <= INT32_MAX);
  return static_cast<int32_t>(size);
}

void append_sized(std::vector<std::byte>& out, std::optional<ByteView> bytes) {
  append_varint(out, bytes ? checked_size(bytes->size()) : -1);
  if (bytes) append_bytes(out, *bytes);
}

}  // namespace

RecordBatchBuilder::RecordBatchBuilder(RecordBatchOptions options)
    : options_(options), stream_(options.compression), out_(header_bytes), next_offset_(options.base_offset) {
  int attributes = static_cast<int>(options.compression.codec);
  if (options.log_append_time) attributes |= timestamp_type_bit;
  if (options.transactional) attributes |= transactional_bit;
  if (options.control) attributes |= control_bit;
  if (options.delete_horizon) attributes |= delete_horizon_bit;
  header_.attributes = static_cast<int16_t>(attributes);
  header_.base_offset = options.base_offset;
  header_.partition_leader_epoch = options.partition_leader_epoch;
  header_.base_timestamp = options.delete_horizon.value_or(no_timestamp);
  header_.producer_id = options.producer_id;
  header_.producer_epoch = options.producer_epoch;
  header_.base_sequence = options.base_sequence;
}

void RecordBatchBuilder::append(TimestampMs timestamp, std::optional<ByteView> key,
                                std::optional<ByteView> value, std::span<const RecordHeader> headers) {
  append_at(next_offset_, timestamp, key, value, headers);
}

void RecordBatchBuilder::append_at(Offset offset, TimestampMs timestamp, std::optional<ByteView> key,
                                   std::optional<ByteView> value, std::span<const RecordHeader> headers) {
  begin_record(offset, timestamp);
  append_sized(body_, key);
  append_sized(body_, value);
  append_varint(body_, checked_size(headers.size()));
  for (const RecordHeader& header : headers) {
    append_sized(body_, as_byte_view(header.key));
    append_sized(body_, header.value);
  }
  end_record();
}

void RecordBatchBuilder::append_at(Offset offset, const RecordView& record) {
  BARNABAS_ASSERT(record.has_contents);
  begin_record(offset, record.timestamp);
  append_sized(body_, record.key());
  append_sized(body_, record.value());
  append_varint(body_, record.header_count);
  append_bytes(body_, record.headers_view);
  end_record();
}

void RecordBatchBuilder::begin_record(Offset offset, TimestampMs timestamp) {
  BARNABAS_ASSERT(offset >= next_offset_ && offset - options_.base_offset <= INT32_MAX);
  BARNABAS_ASSERT(header_.record_count < INT32_MAX);
  if (header_.record_count == 0 && !options_.delete_horizon) header_.base_timestamp = timestamp;
  max_timestamp_ = std::max(max_timestamp_, timestamp);
  header_.last_offset_delta = static_cast<int32_t>(offset - options_.base_offset);
  ++header_.record_count;
  next_offset_ = offset + 1;

  body_.clear();
  body_.push_back(std::byte{0});
  append_varlong(body_, wrapping_difference(timestamp.value(), header_.base_timestamp.value()));
  append_varint(body_, header_.last_offset_delta);
}

void RecordBatchBuilder::end_record() {
  length_.clear();
  append_varint(length_, checked_size(body_.size()));
  stream_.write(length_, out_);
  stream_.write(body_, out_);
}

std::vector<std::byte> RecordBatchBuilder::build() {
  // An empty batch, as compaction keeps it for its producer's sequence, has no compressed content either.
  if (header_.record_count > 0) stream_.finish(out_);
  if (last_offset_) {
    BARNABAS_ASSERT(*last_offset_ + 1 >= next_offset_ && *last_offset_ - options_.base_offset <= INT32_MAX);
    header_.last_offset_delta = static_cast<int32_t>(*last_offset_ - options_.base_offset);
  }
  header_.length = checked_size(out_.size() - log_overhead);
  header_.max_timestamp = options_.log_append_time.value_or(max_timestamp_);
  header_.write(out_);
  seal(out_);
  return std::move(out_);
}

std::vector<std::byte> single_record_batch(TimestampMs timestamp, std::optional<ByteView> key,
                                           std::optional<ByteView> value, RecordBatchOptions options) {
  RecordBatchBuilder builder(options);
  builder.append(timestamp, key, value);
  return builder.build();
}

}  // namespace barnabas::protocol
