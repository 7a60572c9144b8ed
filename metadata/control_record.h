#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "metadata/image.h"

/// Control records of the metadata log: what the quorum says about itself. Format:
/// docs/formats/metadata-log.md.
namespace barnabas::metadata {

/// By their number on the wire.
enum class ControlType : int16_t {
  leader_change = 2,
  snapshot_header = 3,
  snapshot_footer = 4,
  kraft_version = 5,
  voters = 6,
};

/// Key and value as they stand in a control batch.
struct ControlRecord {
  std::vector<std::byte> key;
  std::vector<std::byte> value;
};

/// Empty if that is no key of a control record, or a type that is not known here.
std::optional<ControlType> parse_control_key(ByteView key);

/// All are version 0, whatever newer ones the schemas have: Kafka 4.4 reads LeaderChange only so.
ControlRecord leader_change_record(NodeId leader, const std::vector<NodeId>& voters);
ControlRecord kraft_version_record(int16_t version);
ControlRecord voters_record(const std::vector<VoterImage>& voters);
ControlRecord snapshot_header_record(TimestampMs last_contained);
ControlRecord snapshot_footer_record();

struct LeaderChange {
  NodeId leader;
  std::vector<NodeId> voters;
};
Result<LeaderChange> decode_leader_change(ByteView value);
Result<int16_t> decode_kraft_version(ByteView value);
/// The time of the last batch of the log that the snapshot contains.
Result<TimestampMs> decode_snapshot_header(ByteView value);
Result<std::vector<VoterImage>> decode_voters(ByteView value);

}  // namespace barnabas::metadata
