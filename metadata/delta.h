#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "metadata/image.h"
#include "metadata/publisher.h"
#include "metadata/supported_features.h"
#include "protocol/metadata_record.h"

namespace barnabas::metadata {

struct NextImage {
  MetadataImagePtr image;
  MetadataChanges changes;
};

/// Gathers records on top of an image and makes the next image of them. Costs what the records touch, not
/// what the image holds. A copy is an independent delta, which is how a metadata transaction is taken back.
/// One thread.
class MetadataDelta {
 public:
  explicit MetadataDelta(const MetadataImage& base);

  /// Applies one record as the log holds it (docs/formats/metadata-log.md): frame version, type, version,
  /// message. ErrorKind::corrupt for bytes or references that cannot be; ErrorKind::unsupported for a record
  /// type, record version or metadata.version above ours. After an error the delta is of no use. Transaction
  /// markers are the caller's (Replayer); NoOp does nothing.
  Result<void> replay(ByteView framed_value);
  Result<void> replay(const protocol::MetadataRecord& record, ByteView framed_value);

  void set_kraft_version(int16_t version) { image_.kraft_version = version; }
  void set_voters(std::vector<VoterImage> voters) { image_.voters = std::move(voters); }
  void set_controller(NodeId controller) { image_.controller = controller; }
  void set_cluster_id(std::string cluster_id) { image_.cluster_id = std::move(cluster_id); }

  /// The base with all records applied. The delta is used up. ErrorKind::corrupt if a topic's partitions have
  /// holes.
  Result<NextImage> finish(MetadataPosition position) &&;

 private:
  struct ChangedTopic {
    std::shared_ptr<const TopicImage> before;  ///< null: created here
    std::string name;
    std::vector<std::shared_ptr<const PartitionImage>> partitions;
    std::map<int32_t, std::shared_ptr<const PartitionImage>> beyond;  ///< arrived before a lower one
  };

  Result<void> apply(const protocol::TopicRecord& record);
  Result<void> apply(const protocol::PartitionRecord& record);
  Result<void> apply(const protocol::PartitionChangeRecord& record);
  Result<void> apply(const protocol::RemoveTopicRecord& record);
  Result<void> apply(const protocol::ClearElrRecord& record);
  Result<void> apply(const protocol::ConfigRecord& record);
  Result<void> apply(const protocol::RegisterBrokerRecord& record);
  Result<void> apply(const protocol::UnregisterBrokerRecord& record);
  Result<void> apply(const protocol::FenceBrokerRecord& record);
  Result<void> apply(const protocol::UnfenceBrokerRecord& record);
  Result<void> apply(const protocol::BrokerRegistrationChangeRecord& record);
  Result<void> apply(const protocol::FeatureLevelRecord& record);
  Result<void> apply(const protocol::ProducerIdsRecord& record);
  Result<void> apply(const protocol::UserScramCredentialRecord& record);
  Result<void> apply(const protocol::RemoveUserScramCredentialRecord& record);
  Result<void> apply(const protocol::DelegationTokenRecord& record);
  Result<void> apply(const protocol::RemoveDelegationTokenRecord& record);
  Result<void> apply(const protocol::ClientQuotaRecord& record);
  Result<void> apply(const protocol::AccessControlEntryRecord& record);
  Result<void> apply(const protocol::RemoveAccessControlEntryRecord& record);

  /// The topic made ready for changes; null if there is none of that id.
  ChangedTopic* changed_topic(const Uuid& id);
  ConfigImage& changed_config(const ConfigResource& resource);
  void clear_elr(ChangedTopic& topic);
  void set_fenced(NodeId id, BrokerEpoch epoch, bool fenced);
  void keep(std::string key, ByteView framed_value);
  void drop_kept(const std::string& key);
  void note_broker(NodeId id);
  void add_colliding_name(const std::string& name);
  void remove_colliding_name(const std::string& name);
  Result<void> finish_topics();
  void finish_configs();
  void note_access_control(const Uuid& id);
  void finish_access_control();

  MetadataImage image_;  ///< the base, with everything applied that is not in the two maps below
  MetadataChanges changes_;
  std::unordered_map<Uuid, ChangedTopic> topics_;
  std::unordered_map<std::string, Uuid> new_names_;  ///< of topics created here
  std::map<ConfigResource, ConfigImage> configs_;
  std::map<Uuid, std::shared_ptr<const AclEntry>> changed_acls_;  ///< as they were before
};

}  // namespace barnabas::metadata
