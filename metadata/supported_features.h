#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace barnabas::metadata {

/// A feature of the cluster and the levels of it that this broker can live with (KIP-584).
struct SupportedFeature {
  std::string_view name;
  int16_t min;
  int16_t max;
};

/// Newest metadata.version whose records are all understood here: 4.4-IV2.
inline constexpr int16_t metadata_version_max = 33;
/// Oldest one that Kafka 4.4 still runs with: 3.3-IV3.
inline constexpr int16_t metadata_version_min = 7;

/// Kafka 4.4's own ranges: a broker that claims less cannot join a cluster in which they are finalized.
inline constexpr auto supported_features = std::to_array<SupportedFeature>({
    {"eligible.leader.replicas.version", 0, 1},
    {"group.version", 0, 1},
    {"kraft.version", 0, 1},
    {"metadata.version", metadata_version_min, metadata_version_max},
    {"share.version", 0, 2},
    {"streams.version", 0, 1},
    {"transaction.version", 0, 2},
});

}  // namespace barnabas::metadata
