#pragma once

#include <vector>

#include "base/types.h"
#include "metadata/image.h"
#include "metadata/record_list.h"

namespace barnabas::metadata {

/// The records that make exactly this image on top of an empty one, in the order in which Kafka writes
/// snapshots: features (metadata.version first), brokers, topics with their partitions, configs, producer
/// ids, access control, credentials, delegation tokens, and what is only kept. Versions are those of the
/// image's metadata.version.
RecordList records_of(const MetadataImage& image);

protocol::UserScramCredentialRecord scram_record(const ScramCredential& credential);
protocol::DelegationTokenRecord delegation_token_record(const DelegationToken& token);
protocol::PartitionRecord partition_record(const Uuid& topic, PartitionIndex index,
                                           const PartitionImage& partition);
protocol::AccessControlEntryRecord access_control_record(const AclRule& rule, const Uuid& id);

}  // namespace barnabas::metadata
