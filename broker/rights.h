#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "metadata/access_control_image.h"
#include "protocol/api.h"
#include "protocol/error_code.h"
#include "security/authorizer.h"

namespace barnabas::broker {

/// What a request may need a right for, an API after the other. rights.cc says of each which operation on
/// which kind of resource it is: the table of Apache Kafka 4.4.
enum class Right : uint8_t {
  produce_transactional_id,
  produce_topic,
  fetch_topic,
  fetch_as_broker,
  list_offsets_topic,
  metadata_topic,
  metadata_all_topics,
  metadata_missing_topic,
  metadata_create_anywhere,
  metadata_create_topic,
  metadata_cluster,
  offset_commit_group,
  offset_commit_topic,
  offset_fetch_group,
  offset_fetch_topic,
  find_coordinator_group,
  find_coordinator_transactional_id,
  find_coordinator_share,
  join_group,
  heartbeat_group,
  leave_group,
  sync_group,
  describe_group,
  list_all_groups,
  list_group,
  create_topics_anywhere,
  create_topic,
  create_topic_describe_configs,
  delete_topics_anywhere,
  delete_topic_describe,
  delete_topic,
  delete_records_topic,
  init_producer_transactional_id,
  init_producer_idempotent,
  init_producer_some_topic,
  offset_for_leader_epoch_as_broker,
  offset_for_leader_epoch_topic,
  add_partitions_transactional_id,
  add_partitions_topic,
  add_partitions_as_broker,
  add_offsets_transactional_id,
  add_offsets_group,
  end_transaction,
  write_markers_alter,
  write_markers_as_broker,
  txn_offset_commit_transactional_id,
  txn_offset_commit_group,
  txn_offset_commit_topic,
  describe_acls,
  create_acls,
  delete_acls,
  describe_configs_cluster,
  describe_configs_topic,
  describe_configs_group,
  alter_configs_cluster,
  alter_configs_topic,
  alter_configs_group,
  alter_replica_log_dirs,
  describe_log_dirs,
  create_partitions_topic,
  create_token,
  describe_token,
  describe_tokens_of_user,
  delete_group,
  elect_leaders,
  incremental_alter_configs_cluster,
  incremental_alter_configs_topic,
  incremental_alter_configs_group,
  alter_reassignments,
  list_reassignments,
  offset_delete_group,
  offset_delete_topic,
  describe_client_quotas,
  alter_client_quotas,
  describe_scram,
  alter_scram,
  describe_quorum,
  update_features,
  describe_cluster,
  describe_producers_topic,
  unregister_broker,
  describe_transaction,
  describe_transaction_topic,
  list_transaction,
  consumer_heartbeat_group,
  consumer_heartbeat_topic,
  consumer_heartbeat_matched_topic,
  consumer_describe_group,
  consumer_describe_topic,
  list_config_resources,
  describe_partitions_topic,
  describe_all_partitions_topic,
  count_,
};

struct RightRow {
  Right right;
  protocol::ApiKey api;
  metadata::AclResourceType resource;
  metadata::AclOperation operation;
  security::Audit audit;
};

/// In the order of Right.
std::span<const RightRow> all_rights();

/// What is answered to one who may not use resources of that type.
protocol::ErrorCode authorization_failed(metadata::AclResourceType type);
protocol::ErrorCode authorization_failed(Right right);

/// What the sender of one request may do. Made with its Call, on the loop of its connection, since only there
/// may one ask who the connection acts for; then it, and copies of it, are used on any thread. Without an
/// authorizer everybody may everything, and a question costs the look at a pointer.
class Rights {
 public:
  Rights() = default;
  Rights(const security::Authorizer& authorizer, security::Requester who)
      : authorizer_(&authorizer), who_(std::make_shared<const security::Requester>(std::move(who))) {}

  /// Whether there is anything to ask at all.
  bool limited() const { return authorizer_ != nullptr; }
  bool may(Right right, std::string_view resource, std::size_t references = 1) const {
    return authorizer_ == nullptr || ask(right, resource, references);
  }
  /// For rights on the cluster.
  bool may(Right right) const {
    return authorizer_ == nullptr || ask(right, metadata::cluster_resource_name, 1);
  }
  /// Whether on some resource of the type.
  bool may_on_some(Right right) const;
  /// All operations that are allowed on the resource, a bit each (KIP-430).
  int32_t operations(metadata::AclResourceType type, std::string_view name) const;

 private:
  bool ask(Right right, std::string_view resource, std::size_t references) const;

  const security::Authorizer* authorizer_ = nullptr;
  std::shared_ptr<const security::Requester> who_;
};

}  // namespace barnabas::broker
