#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "protocol/compression/codec.h"
#include "protocol/records/record_batch.h"

namespace barnabas::protocol {

/// A message of format 0 or 1, as Kafka wrote them before 0.11. They are read only: for telling what a
/// directory of an old broker holds. A compressed one wraps a set of further messages in its value.
struct OldMessage {
  Offset offset;           ///< of a wrapper: that of the last message inside
  int32_t size_bytes = 0;  ///< with offset and length
  uint32_t crc = 0;        ///< CRC-32 (the one of gzip) over everything behind it
  int8_t magic = 0;
  int8_t attributes = 0;
  TimestampMs timestamp = no_timestamp;  ///< -1 in format 0
  std::optional<ByteView> key;
  std::optional<ByteView> value;

  /// Nothing when the id is unknown.
  std::optional<Codec> codec() const { return codec_from_id(attributes & batch_format::codec_mask); }
  TimestampType timestamp_type() const {
    return magic > 0 && (attributes & batch_format::timestamp_type_bit) != 0 ? TimestampType::log_append_time
                                                                             : TimestampType::create_time;
  }

  /// `whole` is what BatchIterator calls an old message. ErrorKind::corrupt.
  static Result<OldMessage> parse(ByteView whole);
};

bool verify_old_message_crc(ByteView whole);

/// What a message holds: itself, or the messages inside with their real offsets and timestamps.
struct OldMessages {
  std::vector<OldMessage> messages;
  std::vector<std::byte> content;  ///< what keys and values point into when it was compressed, else the input
};

/// `content_bytes_max` bounds the decompressed content. ErrorKind::corrupt or too_large.
Result<OldMessages> read_old_messages(ByteView whole, size_t content_bytes_max = 64 << 20);

}  // namespace barnabas::protocol
