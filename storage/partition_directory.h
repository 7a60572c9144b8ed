#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "storage/topic_partition.h"

namespace barnabas::storage {

/// The directory of the metadata log below a log directory.
inline constexpr std::string_view metadata_directory_name = "__cluster_metadata-0";

/// What a name in a log directory stands for. See docs/formats/directory-layout.md.
enum class DirectoryKind : uint8_t {
  partition,  ///< "<topic>-<partition>"
  deleted,    ///< "<topic>-<partition>.<32 hex>-delete": to be removed
  future,     ///< "….<32 hex>-future": a replica on its way from another directory of the node
  stray,      ///< "….<32 hex>-stray": set aside, since the metadata did not know it
  metadata,   ///< "__cluster_metadata-0"
  other,      ///< nothing of ours
};

struct PartitionDirectory {
  DirectoryKind kind = DirectoryKind::other;
  /// Of a partition. For the marked kinds the topic may be cut: names end at 255 bytes.
  TopicPartition name;
};

/// Topics may contain dashes and dots; the partition is what follows the last dash. A number with leading
/// zeros or a sign, a topic name that Kafka would refuse, or an unknown suffix is DirectoryKind::other.
PartitionDirectory parse_directory_name(std::string_view name);

inline std::string partition_directory_name(const TopicPartition& name) {
  return name.to_string();
}
/// "<topic>-<partition>.<32 hex>-delete" and "-stray", the topic cut so that the name has at most 255 bytes.
std::string deleted_directory_name(const TopicPartition& name, const Uuid& unique);
std::string stray_directory_name(const TopicPartition& name, const Uuid& unique);
/// "<topic>-<partition>.<32 hex>-future", nothing cut: the topic must be known from it.
std::string future_directory_name(const TopicPartition& name, const Uuid& unique);
/// Whether that name has at most 255 bytes; otherwise the partition cannot be moved, as in Kafka.
bool can_have_future(const TopicPartition& name);

}  // namespace barnabas::storage
