#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/types.h"
#include "protocol/metadata_record_types.h"
#include "protocol/reader.h"
#include "protocol/writer.h"

/// The value of a record in __cluster_metadata: unsigned varints of the frame version (1), the record type
/// and the record's version, then the record (KIP-631). Records of __remote_log_metadata have the same frame.
namespace barnabas::protocol {

inline constexpr uint32_t metadata_frame_version = 1;

/// What stands in front of a record.
struct MetadataFrame {
  uint32_t record_type = 0;
  uint32_t version = 0;
};

/// Leaves the reader at the record. ErrorKind::unsupported for an unknown frame version.
Result<MetadataFrame> decode_metadata_frame(Reader& reader);

/// Decodes a whole value; strings borrow from it. ErrorKind::unsupported for a record type or version that
/// Kafka 4.4 does not know, ErrorKind::corrupt for malformed bytes and for bytes behind the record.
Result<MetadataRecord> decode_metadata_record(ByteView framed_value);

/// Writes the frame and the record; a failure is kept in the writer.
void encode_metadata_record(Writer& writer, const MetadataRecord& record, int16_t version);

template <class Record>
void encode_framed_record(Writer& writer, const Record& record, int16_t version) {
  writer.uvarint(metadata_frame_version);
  writer.uvarint(static_cast<uint32_t>(Record::record_type));
  writer.uvarint(static_cast<uint32_t>(version));
  record.encode(writer, version);
}

}  // namespace barnabas::protocol
