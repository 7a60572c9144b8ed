#pragma once

#include "base/result.h"
#include "coordinator/offset_store.h"
#include "coordinator/record.h"

/// Keys and values of committed offsets in __consumer_offsets: docs/formats/consumer-offsets.md.
namespace barnabas::coordinator {

/// Record types of offsets; 0 is that of Kafka before 0.9.
inline constexpr int16_t legacy_offset_record_type = 0;
inline constexpr int16_t offset_record_type = 1;

/// Borrows from `key`. ErrorKind::corrupt: not the key of an offset.
Result<OffsetKey> decode_offset_key(ByteView key);
/// Any version that Kafka ever wrote. The metadata borrows from `value`. `type`: of the key.
Result<CommittedOffset> decode_offset_value(int16_t type, ByteView value, Offset record_offset);

Record offset_record(const OffsetKey& key, const CommittedOffset& offset);
Record offset_tombstone(const OffsetKey& key);

}  // namespace barnabas::coordinator
