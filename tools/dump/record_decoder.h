#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::tools {

/// What the records of a file hold.
enum class RecordContents {
  opaque,        ///< somebody's bytes
  metadata,      ///< __cluster_metadata and its snapshots
  offsets,       ///< __consumer_offsets
  transactions,  ///< __transaction_state
  share,         ///< __share_group_state
};

/// By the name of the partition's directory, or of the file for snapshots of metadata.
RecordContents contents_by_path(std::string_view path);
/// nullopt for an unknown name; "auto" is not among them.
std::optional<RecordContents> contents_by_name(std::string_view name);

/// A record of a known kind as text, "TopicRecord v0 {…}". ErrorKind::unsupported for kinds and versions that
/// Kafka 4.4 does not have; corrupt for malformed bytes.
Result<std::string> decode_metadata_value(ByteView value);
Result<std::string> decode_coordinator_record(RecordContents contents, ByteView key,
                                              std::optional<ByteView> value);
/// A record of a control batch.
Result<std::string> decode_control_record(std::optional<ByteView> key, std::optional<ByteView> value);

}  // namespace barnabas::tools
