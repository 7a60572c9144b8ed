#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"

namespace barnabas::cluster {

inline constexpr std::string_view quorum_state_name = "quorum-state";

/// What this node knows of the metadata quorum's leader. Format: docs/formats/quorum-state.md.
struct QuorumState {
  NodeId leader{-1};
  LeaderEpoch epoch{-1};
  bool operator==(const QuorumState&) const = default;
};

/// Reads both forms (data_version 0 of static quorums, 1 of dynamic ones). ErrorKind::corrupt says what is
/// wrong.
Result<QuorumState> parse_quorum_state(std::string_view text);
/// The form that Kafka reads at this kraft.version; `node` is the only voter.
std::string format_quorum_state(const QuorumState& state, int16_t kraft_version, NodeId node);

/// nullopt when the directory has no such file.
Result<std::optional<QuorumState>> read_quorum_state(io::Disk& disk, const std::string& directory);
/// Atomic and durable.
Result<void> write_quorum_state(io::Disk& disk, const std::string& directory, const QuorumState& state,
                                int16_t kraft_version, NodeId node);

}  // namespace barnabas::cluster
