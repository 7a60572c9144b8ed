#include "protocol/records/record_reader.h"

#include <algorithm>

#include "base/assert.h"
#include "protocol/records/compressed_records.h"
#include "protocol/records/record_parser.h"

namespace barnabas::protocol {
namespace {

// Two's complement sums: deltas of hostile batches may wrap, as they do for every reader.
int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

ByteView view(const std::byte* bytes, int32_t size) {
  return size > 0 && bytes != nullptr ? ByteView(bytes, static_cast<size_t>(size)) : ByteView();
}

}  // namespace

RecordHeaders::Iterator::Iterator(ByteView rest, int32_t left) : rest_(rest), left_(left) {
  if (left_ > 0) load();
}

RecordHeaders::Iterator& RecordHeaders::Iterator::operator++() {
  if (--left_ > 0) load();
  return *this;
}

void RecordHeaders::Iterator::load() {
  const std::byte* at = rest_.data();
  const std::byte* end = at + rest_.size();
  int32_t size = 0;
  BARNABAS_ASSERT(read_varint(at, end, size) && size >= 0 && size <= end - at);
  header_.key = as_text(ByteView(at, static_cast<size_t>(size)));
  at += size;
  BARNABAS_ASSERT(read_varint(at, end, size) && size <= end - at);
  header_.value = size < 0 ? std::nullopt : std::optional(view(at, size));
  if (size > 0) at += size;
  rest_ = ByteView(at, end);
}

RecordReader::RecordReader(const RecordBatchView& batch, RecordReaderOptions options)
    : batch_(batch), record_count_(batch.record_count()) {
  const std::optional<Codec> codec = batch.codec();
  if (!codec) {
    error_ = Error{ErrorKind::unsupported,
                   "unknown codec " + std::to_string(batch.attributes() & batch_format::codec_mask)};
  } else if (record_count_ < 0) {
    error_ = Error{ErrorKind::invalid_record, to_string(RecordFault::count)};
  } else if (*codec == Codec::none) {
    plain_ = batch.records_bytes();
  } else if (record_count_ > 0) {
    stream_ = std::make_unique<CompressedRecords>(
        *codec, batch.records_bytes(),
        CompressedRecords::Options{.record_bytes_max = options.record_bytes_max,
                                   .whole_records = options.mode == ReadMode::contents});
  }
}

RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

Result<bool> RecordReader::next(RecordView& record) {
  if (error_) return std::unexpected(*error_);
  Result<bool> result = records_read_ < record_count_ ? read(record) : false;
  if (!result) error_ = result.error();
  return result;
}

Result<bool> RecordReader::read(RecordView& record) {
  CompressedRecords::Item item;
  if (stream_) {
    BARNABAS_TRY(stream_->next(item, records_read_));
  } else {
    const std::byte* at = plain_.data();
    const std::byte* end = at + plain_.size();
    const RecordFault fault = parse_record(at, end, item.record, item.size_bytes);
    if (fault != RecordFault::none) return fail(ErrorKind::invalid_record, describe(fault, records_read_));
    plain_ = ByteView(at, end);
  }
  // The last record is given only when nothing follows it.
  if (++records_read_ == record_count_) BARNABAS_TRY(check_end());

  const ParsedRecord& parsed = item.record;
  record.size_bytes = item.size_bytes;
  record.attributes = parsed.attributes;
  record.offset_delta = parsed.offset_delta;
  record.offset = offset_plus(batch_.base_offset(), parsed.offset_delta);
  record.timestamp_delta = parsed.timestamp_delta;
  record.timestamp = batch_.timestamp_type() == TimestampType::log_append_time
                         ? batch_.max_timestamp()
                         : TimestampMs(wrapping_sum(batch_.base_timestamp().value(), parsed.timestamp_delta));
  record.key_bytes = std::max(parsed.key_bytes, -1);
  record.value_bytes = std::max(parsed.value_bytes, -1);
  record.header_count = parsed.header_count;
  record.has_contents = item.has_contents;
  record.key_view = view(parsed.key, parsed.key_bytes);
  record.value_view = view(parsed.value, parsed.value_bytes);
  record.headers_view = {};
  if (item.has_contents) record.headers_view = ByteView(parsed.headers, parsed.end);
  return true;
}

Result<bool> RecordReader::check_end() {
  const Result<bool> ended = stream_ ? stream_->at_end() : plain_.empty();
  BARNABAS_TRY(ended);
  if (!*ended) return fail(ErrorKind::invalid_record, to_string(RecordFault::bytes_left_in_batch));
  return true;
}

Result<std::optional<OffsetAndTimestamp>> find_first_record_at_or_after(const RecordBatchView& batch,
                                                                        TimestampMs target, Offset from) {
  if (batch.max_timestamp() < target) return std::nullopt;
  RecordReader reader(batch, {.mode = ReadMode::structure});
  RecordView record;
  for (;;) {
    BARNABAS_ASSIGN(const bool more, reader.next(record));
    if (!more) return std::nullopt;
    if (record.timestamp >= target && record.offset >= from)
      return OffsetAndTimestamp{record.offset, record.timestamp};
  }
}

Result<std::optional<OffsetAndTimestamp>> find_max_timestamp_record(const RecordBatchView& batch) {
  RecordReader reader(batch, {.mode = ReadMode::structure});
  RecordView record;
  for (;;) {
    BARNABAS_ASSIGN(const bool more, reader.next(record));
    if (!more) return std::nullopt;
    if (record.timestamp == batch.max_timestamp()) return OffsetAndTimestamp{record.offset, record.timestamp};
  }
}

}  // namespace barnabas::protocol
