#include "protocol/records/compressed_records.h"

#include <algorithm>
#include <cstring>

namespace barnabas::protocol {

// Passes on an error and a fault alike; for use within functions that return Result<RecordFault>.
#define BARNABAS_CHECK_RECORD(expression)                                            \
  do {                                                                               \
    auto check_result_ = (expression);                                               \
    if (!check_result_ || *check_result_ != RecordFault::none) return check_result_; \
  } while (false)

namespace {

// One buffer a thread, so that not every batch pays for fresh memory.
thread_local std::unique_ptr<std::byte[]> spare_buffer;

}  // namespace

CompressedRecords::~CompressedRecords() {
  if (capacity_ == buffer_bytes) spare_buffer = std::move(buffer_);
}

// Leaves at least `wanted` bytes in the buffer, or all there are.
Result<void> CompressedRecords::fill(size_t wanted) {
  while (buffered() < wanted && !ended_) {
    if (at_ > 0) {
      std::memmove(buffer_.get(), buffer_.get() + at_, buffered());
      end_ -= at_;
      at_ = 0;
    }
    if (end_ == capacity_) grow();
    BARNABAS_ASSIGN(const size_t size, stream_.read(MutableByteView(buffer_.get() + end_, capacity_ - end_)));
    if (size == 0) ended_ = true;
    end_ += size;
  }
  return {};
}

void CompressedRecords::grow() {
  if (capacity_ == 0) {
    buffer_ =
        spare_buffer ? std::move(spare_buffer) : std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
    capacity_ = buffer_bytes;
    return;
  }
  // Doubling follows the content that is really there, not the length that a record claims.
  auto larger = std::make_unique_for_overwrite<std::byte[]>(2 * capacity_);
  std::memcpy(larger.get(), buffer_.get(), end_);
  if (capacity_ == buffer_bytes) spare_buffer = std::move(buffer_);
  buffer_ = std::move(larger);
  capacity_ *= 2;
}

Result<bool> CompressedRecords::at_end() {
  if (buffered() > 0) return false;
  // Not into the buffer: the last record is still looked at there.
  std::byte probe[1];
  BARNABAS_ASSIGN(const size_t size, stream_.read(probe));
  return size == 0;
}

Result<void> CompressedRecords::next(Item& item, int64_t index) {
  if (buffered() < varint_bytes_max) BARNABAS_TRY(fill(varint_bytes_max));
  const std::byte* at = buffer_.get() + at_;
  RecordFault fault = RecordFault::none;
  if (buffered() == 0) {
    fault = RecordFault::record_missing;
  } else if (!read_varint(at, buffer_.get() + end_, item.size_bytes)) {
    fault = RecordFault::varint;
  } else if (item.size_bytes < 0) {
    fault = RecordFault::record_length;
  } else if (item.size_bytes > options_.record_bytes_max) {
    return fail(ErrorKind::too_large, "record " + std::to_string(index) + " has " +
                                          std::to_string(item.size_bytes) + " bytes, at most " +
                                          std::to_string(options_.record_bytes_max) + " are allowed");
  } else {
    at_ = static_cast<size_t>(at - buffer_.get());
    const bool fits = static_cast<size_t>(item.size_bytes) <= whole_bytes_max;
    BARNABAS_ASSIGN(fault, fits || options_.whole_records ? whole(item) : streamed(item));
  }
  if (fault != RecordFault::none) return fail(ErrorKind::invalid_record, describe(fault, index));
  return {};
}

Result<RecordFault> CompressedRecords::whole(Item& item) {
  const auto size = static_cast<size_t>(item.size_bytes);
  if (buffered() < size) BARNABAS_TRY(fill(size));
  if (buffered() < size) return RecordFault::record_cut;
  const std::byte* body = buffer_.get() + at_;
  const RecordFault fault = parse_record_body(body, body + size, item.record);
  if (fault != RecordFault::none) return fault;
  at_ += size;
  item.has_contents = true;
  if (options_.sink != nullptr) {
    const auto prefix = static_cast<size_t>(item.record.behind_offset_delta - body);
    options_.sink->begin(item.record, item.size_bytes, prefix);
    options_.sink->body(ByteView(body + prefix, size - prefix));
  }
  return RecordFault::none;
}

Result<RecordFault> CompressedRecords::streamed(Item& item) {
  ParsedRecord& record = item.record;
  record = {};
  item.has_contents = false;
  record_left_ = static_cast<size_t>(item.size_bytes);
  to_sink_ = false;

  constexpr size_t prefix_max = 1 + varlong_bytes_max + varint_bytes_max;
  BARNABAS_TRY(fill(prefix_max));
  if (buffered() == 0) return RecordFault::record_cut;
  const std::byte* begin = buffer_.get() + at_;
  const std::byte* at = begin + 1;
  const std::byte* end = begin + std::min(buffered(), record_left_);
  record.attributes = static_cast<int8_t>(*begin);
  if (!read_varlong(at, end, record.timestamp_delta) || !read_varint(at, end, record.offset_delta)) {
    return RecordFault::varint;
  }
  consume(static_cast<size_t>(at - begin));
  if (options_.sink != nullptr) {
    options_.sink->begin(record, item.size_bytes, static_cast<size_t>(at - begin));
    to_sink_ = true;
  }

  BARNABAS_CHECK_RECORD(number(record.key_bytes));
  BARNABAS_CHECK_RECORD(skip(record.key_bytes, RecordFault::key_length));
  BARNABAS_CHECK_RECORD(number(record.value_bytes));
  BARNABAS_CHECK_RECORD(skip(record.value_bytes, RecordFault::value_length));
  BARNABAS_CHECK_RECORD(number(record.header_count));
  if (record.header_count < 0) return RecordFault::header_count;
  BARNABAS_CHECK_RECORD(streamed_headers(record.header_count));
  return record_left_ == 0 ? RecordFault::none : RecordFault::bytes_left_in_record;
}

Result<RecordFault> CompressedRecords::streamed_headers(int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    int32_t key_bytes = 0;
    int32_t value_bytes = 0;
    BARNABAS_CHECK_RECORD(number(key_bytes));
    if (key_bytes < 0) return RecordFault::header_key;
    BARNABAS_CHECK_RECORD(skip(key_bytes, RecordFault::header_key));
    BARNABAS_CHECK_RECORD(number(value_bytes));
    BARNABAS_CHECK_RECORD(skip(value_bytes, RecordFault::header_value));
  }
  return RecordFault::none;
}

Result<RecordFault> CompressedRecords::number(int32_t& value) {
  if (buffered() < varint_bytes_max) BARNABAS_TRY(fill(varint_bytes_max));
  const std::byte* begin = buffer_.get() + at_;
  const std::byte* at = begin;
  if (!read_varint(at, begin + std::min(buffered(), record_left_), value)) return RecordFault::varint;
  consume(static_cast<size_t>(at - begin));
  return RecordFault::none;
}

Result<RecordFault> CompressedRecords::skip(int32_t bytes, RecordFault too_long) {
  if (bytes <= 0) return RecordFault::none;
  auto left = static_cast<size_t>(bytes);
  if (left > record_left_) return too_long;
  while (left > 0) {
    if (buffered() == 0) BARNABAS_TRY(fill(1));
    if (buffered() == 0) return RecordFault::record_cut;
    const size_t piece = std::min(left, buffered());
    consume(piece);
    left -= piece;
  }
  return RecordFault::none;
}

void CompressedRecords::consume(size_t bytes) {
  if (to_sink_) options_.sink->body(ByteView(buffer_.get() + at_, bytes));
  at_ += bytes;
  record_left_ -= bytes;
}

}  // namespace barnabas::protocol
