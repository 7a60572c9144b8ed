#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/types.h"
#include "protocol/records/varint.h"

namespace barnabas::protocol {

/// What is wrong with the structure of a record. Inner type of the records code.
enum class RecordFault : uint8_t {
  none,
  record_missing,
  record_length,
  record_cut,
  varint,
  key_length,
  value_length,
  header_count,
  header_key,
  header_value,
  bytes_left_in_record,
  bytes_left_in_batch,
  count,
};

/// For people, as in "record 3: key longer than its record".
const char* to_string(RecordFault fault);
std::string describe(RecordFault fault, int64_t record_index);

/// One record as it stands in memory; pointers into the parsed bytes. Negative lengths mean null.
struct ParsedRecord {
  int8_t attributes = 0;
  int64_t timestamp_delta = 0;
  int32_t offset_delta = 0;
  int32_t key_bytes = -1;
  int32_t value_bytes = -1;
  int32_t header_count = 0;
  const std::byte* behind_offset_delta = nullptr;
  const std::byte* key = nullptr;
  const std::byte* value = nullptr;
  const std::byte* headers = nullptr;  ///< behind their count, up to `end`
  const std::byte* end = nullptr;
};

/// Checks `count` headers from `at` on and leaves `at` behind them.
inline RecordFault parse_record_headers(const std::byte*& at, const std::byte* end, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    int32_t key_bytes = 0;
    int32_t value_bytes = 0;
    if (!read_varint(at, end, key_bytes)) return RecordFault::varint;
    if (key_bytes < 0 || key_bytes > end - at) return RecordFault::header_key;
    at += key_bytes;
    if (!read_varint(at, end, value_bytes)) return RecordFault::varint;
    if (value_bytes > end - at) return RecordFault::header_value;
    if (value_bytes > 0) at += value_bytes;
  }
  return RecordFault::none;
}

/// Parses what follows a record's length: exactly the bytes from `at` to `end`.
inline RecordFault parse_record_body(const std::byte* at, const std::byte* end, ParsedRecord& record) {
  if (at == end) return RecordFault::record_cut;
  record.end = end;
  record.attributes = static_cast<int8_t>(*at++);
  // Only short records need a look at the end for each of the first numbers.
  if (end - at >= static_cast<std::ptrdiff_t>(varlong_bytes_max + 2 * varint_bytes_max)) [[likely]] {
    if (!read_zigzag<uint64_t, true>(at, end, record.timestamp_delta)) return RecordFault::varint;
    if (!read_zigzag<uint32_t, true>(at, end, record.offset_delta)) return RecordFault::varint;
    record.behind_offset_delta = at;
    if (!read_zigzag<uint32_t, true>(at, end, record.key_bytes)) return RecordFault::varint;
  } else {
    if (!read_varlong(at, end, record.timestamp_delta)) return RecordFault::varint;
    if (!read_varint(at, end, record.offset_delta)) return RecordFault::varint;
    record.behind_offset_delta = at;
    if (!read_varint(at, end, record.key_bytes)) return RecordFault::varint;
  }
  if (record.key_bytes > end - at) return RecordFault::key_length;
  record.key = at;
  if (record.key_bytes > 0) at += record.key_bytes;
  if (!read_varint(at, end, record.value_bytes)) return RecordFault::varint;
  if (record.value_bytes > end - at) return RecordFault::value_length;
  record.value = at;
  if (record.value_bytes > 0) at += record.value_bytes;
  if (!read_varint(at, end, record.header_count)) return RecordFault::varint;
  if (record.header_count < 0) return RecordFault::header_count;
  record.headers = at;
  if (record.header_count > 0) {
    if (const RecordFault fault = parse_record_headers(at, end, record.header_count);
        fault != RecordFault::none) {
      return fault;
    }
  }
  return at == end ? RecordFault::none : RecordFault::bytes_left_in_record;
}

/// Parses the record at `at`, with its length in front, and leaves `at` behind it.
inline RecordFault parse_record(const std::byte*& at, const std::byte* end, ParsedRecord& record,
                                int32_t& size_bytes) {
  if (at == end) return RecordFault::record_missing;
  if (!read_varint(at, end, size_bytes)) return RecordFault::varint;
  if (size_bytes < 0) return RecordFault::record_length;
  if (size_bytes > end - at) return RecordFault::record_cut;
  const std::byte* body = at;
  at += size_bytes;
  return parse_record_body(body, at, record);
}

}  // namespace barnabas::protocol
