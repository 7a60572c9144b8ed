#include "metadata/image_writer.h"

#include <algorithm>

#include "metadata/record_versions.h"

namespace barnabas::metadata {
namespace {

std::vector<int32_t> numbers(const std::vector<NodeId>& nodes) {
  std::vector<int32_t> result;
  result.reserve(nodes.size());
  for (const NodeId node : nodes) result.push_back(node.value());
  return result;
}

/// In a snapshot an empty list is as good as none, and absent is what Kafka writes.
std::optional<std::vector<int32_t>> numbers_unless_empty(const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return std::nullopt;
  return numbers(nodes);
}

protocol::RegisterBrokerRecord broker_record(const BrokerImage& broker) {
  protocol::RegisterBrokerRecord record;
  record.broker_id = broker.id.value();
  record.is_migrating_zk_broker = broker.is_migrating_zk_broker;
  record.incarnation_id = broker.incarnation_id;
  record.broker_epoch = broker.epoch.value();
  for (const auto& endpoint : broker.endpoints) {
    auto& added = record.end_points.emplace_back();
    added.name = endpoint.listener;
    added.host = endpoint.host;
    added.port = endpoint.port;
    added.security_protocol = endpoint.security_protocol;
  }
  for (const auto& [name, range] : broker.features) {
    auto& added = record.features.emplace_back();
    added.name = name;
    added.min_supported_version = range.min;
    added.max_supported_version = range.max;
  }
  record.rack.reset();
  if (broker.rack) record.rack = protocol::String(*broker.rack);
  record.fenced = broker.fenced;
  record.in_controlled_shutdown = broker.in_controlled_shutdown;
  record.log_dirs = broker.log_dirs;
  record.cordoned_log_dirs = broker.cordoned_log_dirs;
  return record;
}

/// The version that the metadata.version asks for, unless what the image holds needs a newer one: nothing may
/// get lost.
int16_t version_of(const protocol::RegisterBrokerRecord& record, int16_t metadata_version) {
  int16_t needed = record.is_migrating_zk_broker ? 2 : 1;
  if (!record.log_dirs.empty()) needed = 3;
  if (record.cordoned_log_dirs) needed = 4;
  return std::max(needed, register_broker_record_version(metadata_version));
}

int16_t version_of(const protocol::PartitionRecord& record, int16_t metadata_version) {
  int16_t needed = record.directories.empty() ? 0 : 1;
  if (record.eligible_leader_replicas || record.last_known_elr) needed = 2;
  return std::max(needed, partition_record_version(metadata_version));
}

void add_feature(RecordList& records, std::string_view name, int16_t level) {
  protocol::FeatureLevelRecord record;
  record.name = name;
  record.feature_level = level;
  records.add(record);
}

void add_credentials(RecordList& records, const MetadataImage& image) {
  for (const auto& credential : image.scram_credentials) records.add(scram_record(*credential));
  for (const auto& token : image.delegation_tokens) records.add(delegation_token_record(*token));
}

}  // namespace

protocol::UserScramCredentialRecord scram_record(const ScramCredential& credential) {
  protocol::UserScramCredentialRecord record;
  record.name = credential.key.user;
  record.mechanism = static_cast<int8_t>(credential.key.mechanism);
  record.salt = protocol::Bytes(credential.salt);
  record.stored_key = protocol::Bytes(credential.stored_key);
  record.server_key = protocol::Bytes(credential.server_key);
  record.iterations = credential.iterations;
  return record;
}

protocol::DelegationTokenRecord delegation_token_record(const DelegationToken& token) {
  protocol::DelegationTokenRecord record;
  record.token_id = token.id;
  record.owner = token.owner;
  record.requester = token.requester;
  for (const std::string& renewer : token.renewers) record.renewers.emplace_back(renewer);
  record.issue_timestamp = token.issued.value();
  record.expiration_timestamp = token.expires.value();
  record.max_timestamp = token.expires_at_last.value();
  return record;
}

protocol::PartitionRecord partition_record(const Uuid& topic, PartitionIndex index,
                                           const PartitionImage& partition) {
  protocol::PartitionRecord record;
  record.partition_id = index.value();
  record.topic_id = topic;
  record.replicas = numbers(partition.replicas);
  record.isr = numbers(partition.isr);
  record.removing_replicas = numbers(partition.removing_replicas);
  record.adding_replicas = numbers(partition.adding_replicas);
  record.leader = partition.leader.value();
  record.leader_recovery_state = partition.leader_recovery_state;
  record.leader_epoch = partition.leader_epoch.value();
  record.partition_epoch = partition.partition_epoch;
  record.directories = partition.directories;
  record.eligible_leader_replicas = numbers_unless_empty(partition.eligible_leader_replicas);
  record.last_known_elr = numbers_unless_empty(partition.last_known_elr);
  return record;
}

protocol::AccessControlEntryRecord access_control_record(const AclRule& rule, const Uuid& id) {
  protocol::AccessControlEntryRecord record;
  record.id = id;
  record.resource_type = static_cast<int8_t>(rule.resource_type);
  record.resource_name = rule.resource_name;
  record.pattern_type = static_cast<int8_t>(rule.pattern_type);
  record.principal = rule.principal;
  record.host = rule.host;
  record.operation = static_cast<int8_t>(rule.operation);
  record.permission_type = static_cast<int8_t>(rule.permission);
  return record;
}

RecordList records_of(const MetadataImage& image) {
  RecordList records;
  const int16_t metadata_version = image.metadata_version();
  if (metadata_version != 0) add_feature(records, "metadata.version", metadata_version);
  for (const auto& [name, level] : image.features) {
    if (name != "metadata.version") add_feature(records, name, level);
  }
  for (const auto& [id, broker] : image.brokers) {
    const auto record = broker_record(*broker);
    records.add(record, version_of(record, metadata_version));
  }
  for (const auto& topic : image.topics_by_name) {
    protocol::TopicRecord record;
    record.name = topic->name;
    record.topic_id = topic->id;
    records.add(record);
    for (int32_t i = 0; i < topic->partition_count(); ++i) {
      const auto partition =
          partition_record(topic->id, PartitionIndex(i), *topic->partitions[static_cast<std::size_t>(i)]);
      records.add(partition, version_of(partition, metadata_version));
    }
  }
  for (const auto& config : image.configs) {
    for (const auto& [name, value] : config->values) {
      protocol::ConfigRecord record;
      record.resource_type = static_cast<int8_t>(config->resource.type);
      record.resource_name = config->resource.name;
      record.name = name;
      record.value = protocol::String(value);
      records.add(record);
    }
  }
  for (const auto& quotas : image.client_quotas) {
    for (const auto& [key, value] : quotas->values) {
      protocol::ClientQuotaRecord record;
      for (const auto& [type, name] : quotas->entity) {
        auto& part = record.entity.emplace_back();
        part.entity_type = type;
        part.entity_name.reset();
        if (name) part.entity_name = protocol::String(*name);
      }
      record.key = key;
      record.value = value;
      records.add(record);
    }
  }
  if (image.next_producer_id > 0) {
    protocol::ProducerIdsRecord record;
    record.broker_id = -1;
    record.next_producer_id = image.next_producer_id;
    records.add(record);
  }
  for (const auto& entry : image.access_control.by_rule)
    records.add(access_control_record(entry->rule, entry->id));
  add_credentials(records, image);
  for (const auto& kept : image.kept) records.add_framed(kept->value);
  return records;
}

}  // namespace barnabas::metadata
