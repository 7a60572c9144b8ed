#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "base/uuid.h"
#include "metadata/access_control_image.h"
#include "metadata/credential_image.h"
#include "metadata/quota_image.h"
#include "metadata/shared_map.h"

/// The state of the cluster at one offset of the metadata log. Everything in an image is immutable and held
/// by shared_ptr<const …>: readers on any thread keep an image as long as they like and see one consistent
/// state.
namespace barnabas::metadata {

inline constexpr NodeId no_node{-1};

/// Reserved values of a replica's directory (KIP-858), as 128-bit numbers 0, 1 and 2.
inline constexpr Uuid directory_migrating{};
inline constexpr Uuid directory_unassigned{
    {{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
      std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
      std::byte{0}, std::byte{1}}}};
inline constexpr Uuid directory_lost{
    {{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
      std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
      std::byte{0}, std::byte{2}}}};

struct PartitionImage {
  std::vector<NodeId> replicas;
  std::vector<Uuid>
      directories;  ///< one per replica, in the order of `replicas`; empty in logs before Kafka 3.7
  std::vector<NodeId> isr;
  std::vector<NodeId> removing_replicas;
  std::vector<NodeId> adding_replicas;
  std::vector<NodeId> eligible_leader_replicas;  ///< KIP-966
  std::vector<NodeId> last_known_elr;
  NodeId leader = no_node;  ///< no_node: nobody leads now
  LeaderEpoch leader_epoch{0};
  int32_t partition_epoch =
      0;  ///< counts every change of this partition; compare-and-set value of AlterPartition
  int8_t leader_recovery_state = 0;  ///< 1 after an unclean election, until the leader has recovered

  bool operator==(const PartitionImage&) const = default;
  /// Directory of that node's replica; directory_migrating if it is no replica.
  Uuid directory_of(NodeId node) const;
};

struct TopicImage {
  std::string name;
  Uuid id;
  std::vector<std::shared_ptr<const PartitionImage>> partitions;  ///< index = partition; no holes, no nulls

  /// Null if there is no such partition, whatever the number is.
  const PartitionImage* partition(PartitionIndex index) const {
    auto at = static_cast<std::size_t>(index.value());
    return index.value() >= 0 && at < partitions.size() ? partitions[at].get() : nullptr;
  }
  int32_t partition_count() const { return static_cast<int32_t>(partitions.size()); }
};

/// Types of config resources, with Kafka's numbers.
enum class ConfigResourceType : int8_t {
  unknown = 0,
  topic = 2,
  broker = 4,  ///< name: the node id in decimal, or "" for the default of all brokers
  broker_logger = 8,
  client_metrics = 16,
  group = 32,
};

struct ConfigResource {
  ConfigResourceType type = ConfigResourceType::unknown;
  std::string name;
  auto operator<=>(const ConfigResource&) const = default;
};

/// What was set on one resource; never empty. Values are as they were given, spaces included.
struct ConfigImage {
  ConfigResource resource;
  std::map<std::string, std::string, std::less<>> values;
};

struct BrokerEndpoint {
  std::string listener;
  std::string host;
  uint16_t port = 0;
  int16_t security_protocol = 0;  ///< 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
  bool operator==(const BrokerEndpoint&) const = default;
};

struct FeatureRange {
  int16_t min = 0;
  int16_t max = 0;
  bool operator==(const FeatureRange&) const = default;
};

/// A registered broker. `epoch` is not derived from an offset: it is what the registration record says.
struct BrokerImage {
  NodeId id = no_node;
  BrokerEpoch epoch{-1};
  Uuid incarnation_id;
  std::vector<BrokerEndpoint> endpoints;
  std::map<std::string, FeatureRange, std::less<>> features;
  std::optional<std::string> rack;
  bool fenced = true;
  bool in_controlled_shutdown = false;
  bool is_migrating_zk_broker = false;
  std::vector<Uuid> log_dirs;
  std::optional<std::vector<Uuid>> cordoned_log_dirs;
  bool operator==(const BrokerImage&) const = default;
};

/// A voter of the metadata quorum (kraft.version 1), from the last Voters control record.
struct VoterImage {
  NodeId id = no_node;
  Uuid directory_id;
  std::vector<BrokerEndpoint> endpoints;  ///< security protocols are not known
  FeatureRange kraft_versions;
  bool operator==(const VoterImage&) const = default;
};

/// A record that this broker carries on from snapshot to snapshot without acting upon it (registered
/// controllers).
struct KeptRecord {
  std::string key;  ///< what a later record of the kind replaces or removes; begins with the record's type
  std::vector<std::byte> value;  ///< as in the log: frame version, type, version, message
};

/// Topics whose names are equal once '.' is taken for '_' (in metric names they would be one). Only names
/// with such a character are listed.
struct CollidingNames {
  std::string normalized;
  std::vector<std::string> names;  ///< more than one only in directories of old brokers
};

struct TopicNameOf {
  std::string_view operator()(const std::shared_ptr<const TopicImage>& topic) const { return topic->name; }
};
struct TopicIdOf {
  const Uuid& operator()(const std::shared_ptr<const TopicImage>& topic) const { return topic->id; }
};
struct ConfigResourceOf {
  const ConfigResource& operator()(const std::shared_ptr<const ConfigImage>& config) const {
    return config->resource;
  }
};
struct NormalizedNameOf {
  const std::string& operator()(const std::shared_ptr<const CollidingNames>& names) const {
    return names->normalized;
  }
};
struct QuotaEntityOf {
  const QuotaEntity& operator()(const std::shared_ptr<const QuotaImage>& quotas) const {
    return quotas->entity;
  }
};
struct KeptKeyOf {
  const std::string& operator()(const std::shared_ptr<const KeptRecord>& kept) const { return kept->key; }
};

/// How far the metadata log is contained in an image.
struct MetadataPosition {
  Offset offset = no_offset;  ///< last record that is contained; also Kafka's "finalized features epoch"
  LeaderEpoch epoch = no_leader_epoch;
  TimestampMs timestamp = no_timestamp;  ///< of the last batch that is contained
  bool operator==(const MetadataPosition&) const = default;
};

struct MetadataImage {
  std::string cluster_id;       ///< from meta.properties; the log does not hold it
  NodeId controller = no_node;  ///< the active controller (raft leader), no_node if unknown
  MetadataPosition position;

  SharedMap<std::shared_ptr<const TopicImage>, TopicNameOf> topics_by_name;  ///< sorted by name
  SharedMap<std::shared_ptr<const TopicImage>, TopicIdOf> topics_by_id;
  SharedMap<std::shared_ptr<const CollidingNames>, NormalizedNameOf> colliding_names;
  SharedMap<std::shared_ptr<const ConfigImage>, ConfigResourceOf> configs;
  SharedMap<std::shared_ptr<const ScramCredential>, ScramKeyOf> scram_credentials;
  SharedMap<std::shared_ptr<const DelegationToken>, DelegationTokenIdOf> delegation_tokens;
  SharedMap<std::shared_ptr<const QuotaImage>, QuotaEntityOf> client_quotas;
  AccessControlImage access_control;
  SharedMap<std::shared_ptr<const KeptRecord>, KeptKeyOf> kept;
  std::map<NodeId, std::shared_ptr<const BrokerImage>> brokers;
  std::map<std::string, int16_t, std::less<>> features;  ///< finalized levels, without kraft.version
  int16_t kraft_version = 0;                             ///< from a control record of the log
  std::vector<VoterImage> voters;   ///< empty with kraft.version 0: settings name them then
  int64_t next_producer_id = 0;     ///< first id that no block holds yet
  std::size_t partition_count = 0;  ///< of all topics together

  /// Null if there is no such thing. The result lives as long as the image.
  const TopicImage* topic(std::string_view name) const;
  const TopicImage* topic(const Uuid& id) const;
  const PartitionImage* partition(std::string_view topic, PartitionIndex index) const;
  const BrokerImage* broker(NodeId id) const;
  const ConfigImage* config(ConfigResourceType type, std::string_view name) const;
  const ScramCredential* scram_credential(ScramMechanism mechanism, std::string_view user) const;
  const DelegationToken* delegation_token(std::string_view id) const;

  /// A value that was set on that resource and nowhere else.
  std::optional<std::string_view> config_value(ConfigResourceType type, std::string_view resource,
                                               std::string_view name) const;
  /// The level of metadata.version; 0 before the first record.
  int16_t metadata_version() const;
};

using MetadataImagePtr = std::shared_ptr<const MetadataImage>;

}  // namespace barnabas::metadata
