#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/types.h"
#include "metadata/image.h"
#include "metadata/record_list.h"
#include "metadata/static_config.h"
#include "protocol/messages/partition_change_record.h"

/// What becomes of one partition when its replicas, its in-sync replicas or its leader are to change.
namespace barnabas::cluster {

/// Whom a leader may be chosen from. In all but `unclean` only replicas that hold all that was acknowledged.
enum class Election : uint8_t {
  online,     ///< the present leader stays if it may
  preferred,  ///< the first replica, if it may
  unclean,    ///< any replica that is alive, if no other may
};

/// What a partition is to be, all in the order of preference.
struct PartitionTarget {
  explicit PartitionTarget(const metadata::PartitionImage& present)
      : replicas(present.replicas),
        isr(present.isr),
        adding(present.adding_replicas),
        removing(present.removing_replicas) {}

  std::vector<NodeId> replicas;
  std::vector<NodeId> isr;
  std::vector<NodeId> adding;    ///< of `replicas`, those that a reassignment adds
  std::vector<NodeId> removing;  ///< of `replicas`, those that it takes away
};

struct PartitionChangeRules {
  const metadata::MetadataImage& image;
  Election election = Election::online;
  int32_t min_insync_replicas = 1;  ///< below it eligible leader replicas are kept (KIP-966)
  /// Whether that broker is up and its replica's directory is there.
  std::function<bool(const metadata::PartitionImage&, NodeId)> is_alive;
};

/// PartitionChangeRules::is_alive as the image says it.
bool is_alive_in(const metadata::MetadataImage& image, const metadata::PartitionImage& partition,
                 NodeId node);

/// Whether replicas are being added or taken away.
bool is_reassigning(const metadata::PartitionImage& partition);

/// The record that makes the target of the partition, finishing a reassignment whose new replicas are all in
/// sync, and electing a leader. Nothing if nothing changes. The record's version is
/// partition_change_record_version's.
std::optional<protocol::PartitionChangeRecord> change_partition(const Uuid& topic, PartitionIndex index,
                                                                const metadata::PartitionImage& present,
                                                                PartitionTarget target,
                                                                const PartitionChangeRules& rules);

/// min.insync.replicas in force for a topic, on the node that the controller runs on.
int32_t min_insync_replicas(std::string_view topic, const metadata::MetadataImage& image, NodeId node,
                            const metadata::StaticConfig& config);

/// KIP-858: a broker with one directory has its replicas there; with several it says later where it put them.
Uuid directory_for(const metadata::MetadataImage& image, NodeId broker);

}  // namespace barnabas::cluster
