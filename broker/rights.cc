#include "broker/rights.h"

#include <algorithm>

namespace barnabas::broker {
namespace {

using protocol::ApiKey;
using protocol::ErrorCode;
using Type = metadata::AclResourceType;
using Operation = metadata::AclOperation;
using security::Audit;

// What is not asked for by name, or is only the first of two ways, is no attempt to get at something when it
// is denied: allowed_only.
constexpr std::array rows = std::to_array<RightRow>({
    {Right::produce_transactional_id, ApiKey::produce, Type::transactional_id, Operation::write, Audit::all},
    {Right::produce_topic, ApiKey::produce, Type::topic, Operation::write, Audit::all},
    {Right::fetch_topic, ApiKey::fetch, Type::topic, Operation::read, Audit::all},
    {Right::fetch_as_broker, ApiKey::fetch, Type::cluster, Operation::cluster_action, Audit::all},
    {Right::list_offsets_topic, ApiKey::list_offsets, Type::topic, Operation::describe, Audit::all},
    {Right::metadata_topic, ApiKey::metadata, Type::topic, Operation::describe, Audit::all},
    {Right::metadata_all_topics, ApiKey::metadata, Type::topic, Operation::describe, Audit::allowed_only},
    {Right::metadata_missing_topic, ApiKey::metadata, Type::topic, Operation::describe, Audit::none},
    {Right::metadata_create_anywhere, ApiKey::metadata, Type::cluster, Operation::create,
     Audit::allowed_only},
    {Right::metadata_create_topic, ApiKey::metadata, Type::topic, Operation::create, Audit::all},
    {Right::metadata_cluster, ApiKey::metadata, Type::cluster, Operation::describe, Audit::all},
    {Right::offset_commit_group, ApiKey::offset_commit, Type::group, Operation::read, Audit::all},
    {Right::offset_commit_topic, ApiKey::offset_commit, Type::topic, Operation::read, Audit::all},
    {Right::offset_fetch_group, ApiKey::offset_fetch, Type::group, Operation::describe, Audit::all},
    {Right::offset_fetch_topic, ApiKey::offset_fetch, Type::topic, Operation::describe, Audit::all},
    {Right::find_coordinator_group, ApiKey::find_coordinator, Type::group, Operation::describe, Audit::all},
    {Right::find_coordinator_transactional_id, ApiKey::find_coordinator, Type::transactional_id,
     Operation::describe, Audit::all},
    {Right::find_coordinator_share, ApiKey::find_coordinator, Type::cluster, Operation::cluster_action,
     Audit::all},
    {Right::join_group, ApiKey::join_group, Type::group, Operation::read, Audit::all},
    {Right::heartbeat_group, ApiKey::heartbeat, Type::group, Operation::read, Audit::all},
    {Right::leave_group, ApiKey::leave_group, Type::group, Operation::read, Audit::all},
    {Right::sync_group, ApiKey::sync_group, Type::group, Operation::read, Audit::all},
    {Right::describe_group, ApiKey::describe_groups, Type::group, Operation::describe, Audit::all},
    {Right::list_all_groups, ApiKey::list_groups, Type::cluster, Operation::describe, Audit::allowed_only},
    {Right::list_group, ApiKey::list_groups, Type::group, Operation::describe, Audit::allowed_only},
    {Right::create_topics_anywhere, ApiKey::create_topics, Type::cluster, Operation::create,
     Audit::allowed_only},
    {Right::create_topic, ApiKey::create_topics, Type::topic, Operation::create, Audit::all},
    {Right::create_topic_describe_configs, ApiKey::create_topics, Type::topic, Operation::describe_configs,
     Audit::allowed_only},
    {Right::delete_topics_anywhere, ApiKey::delete_topics, Type::cluster, Operation::remove,
     Audit::allowed_only},
    {Right::delete_topic_describe, ApiKey::delete_topics, Type::topic, Operation::describe, Audit::all},
    {Right::delete_topic, ApiKey::delete_topics, Type::topic, Operation::remove, Audit::all},
    {Right::delete_records_topic, ApiKey::delete_records, Type::topic, Operation::remove, Audit::all},
    {Right::init_producer_transactional_id, ApiKey::init_producer_id, Type::transactional_id,
     Operation::write, Audit::all},
    {Right::init_producer_idempotent, ApiKey::init_producer_id, Type::cluster, Operation::idempotent_write,
     Audit::allowed_only},
    {Right::init_producer_some_topic, ApiKey::init_producer_id, Type::topic, Operation::write, Audit::all},
    {Right::offset_for_leader_epoch_as_broker, ApiKey::offset_for_leader_epoch, Type::cluster,
     Operation::cluster_action, Audit::allowed_only},
    {Right::offset_for_leader_epoch_topic, ApiKey::offset_for_leader_epoch, Type::topic, Operation::describe,
     Audit::all},
    {Right::add_partitions_transactional_id, ApiKey::add_partitions_to_txn, Type::transactional_id,
     Operation::write, Audit::all},
    {Right::add_partitions_topic, ApiKey::add_partitions_to_txn, Type::topic, Operation::write, Audit::all},
    {Right::add_partitions_as_broker, ApiKey::add_partitions_to_txn, Type::cluster, Operation::cluster_action,
     Audit::all},
    {Right::add_offsets_transactional_id, ApiKey::add_offsets_to_txn, Type::transactional_id,
     Operation::write, Audit::all},
    {Right::add_offsets_group, ApiKey::add_offsets_to_txn, Type::group, Operation::read, Audit::all},
    {Right::end_transaction, ApiKey::end_txn, Type::transactional_id, Operation::write, Audit::all},
    {Right::write_markers_alter, ApiKey::write_txn_markers, Type::cluster, Operation::alter,
     Audit::allowed_only},
    {Right::write_markers_as_broker, ApiKey::write_txn_markers, Type::cluster, Operation::cluster_action,
     Audit::all},
    {Right::txn_offset_commit_transactional_id, ApiKey::txn_offset_commit, Type::transactional_id,
     Operation::write, Audit::all},
    {Right::txn_offset_commit_group, ApiKey::txn_offset_commit, Type::group, Operation::read, Audit::all},
    {Right::txn_offset_commit_topic, ApiKey::txn_offset_commit, Type::topic, Operation::read, Audit::all},
    {Right::describe_acls, ApiKey::describe_acls, Type::cluster, Operation::describe, Audit::all},
    {Right::create_acls, ApiKey::create_acls, Type::cluster, Operation::alter, Audit::all},
    {Right::delete_acls, ApiKey::delete_acls, Type::cluster, Operation::alter, Audit::all},
    {Right::describe_configs_cluster, ApiKey::describe_configs, Type::cluster, Operation::describe_configs,
     Audit::all},
    {Right::describe_configs_topic, ApiKey::describe_configs, Type::topic, Operation::describe_configs,
     Audit::all},
    {Right::describe_configs_group, ApiKey::describe_configs, Type::group, Operation::describe_configs,
     Audit::all},
    {Right::alter_configs_cluster, ApiKey::alter_configs, Type::cluster, Operation::alter_configs,
     Audit::all},
    {Right::alter_configs_topic, ApiKey::alter_configs, Type::topic, Operation::alter_configs, Audit::all},
    {Right::alter_configs_group, ApiKey::alter_configs, Type::group, Operation::alter_configs, Audit::all},
    {Right::alter_replica_log_dirs, ApiKey::alter_replica_log_dirs, Type::cluster, Operation::alter,
     Audit::all},
    {Right::describe_log_dirs, ApiKey::describe_log_dirs, Type::cluster, Operation::describe, Audit::all},
    {Right::create_partitions_topic, ApiKey::create_partitions, Type::topic, Operation::alter, Audit::all},
    {Right::create_token, ApiKey::create_delegation_token, Type::user, Operation::create_tokens, Audit::all},
    {Right::describe_token, ApiKey::describe_delegation_token, Type::delegation_token, Operation::describe,
     Audit::all},
    {Right::describe_tokens_of_user, ApiKey::describe_delegation_token, Type::user,
     Operation::describe_tokens, Audit::all},
    {Right::delete_group, ApiKey::delete_groups, Type::group, Operation::remove, Audit::all},
    {Right::elect_leaders, ApiKey::elect_leaders, Type::cluster, Operation::alter, Audit::all},
    {Right::incremental_alter_configs_cluster, ApiKey::incremental_alter_configs, Type::cluster,
     Operation::alter_configs, Audit::all},
    {Right::incremental_alter_configs_topic, ApiKey::incremental_alter_configs, Type::topic,
     Operation::alter_configs, Audit::all},
    {Right::incremental_alter_configs_group, ApiKey::incremental_alter_configs, Type::group,
     Operation::alter_configs, Audit::all},
    {Right::alter_reassignments, ApiKey::alter_partition_reassignments, Type::cluster, Operation::alter,
     Audit::all},
    {Right::list_reassignments, ApiKey::list_partition_reassignments, Type::cluster, Operation::describe,
     Audit::all},
    {Right::offset_delete_group, ApiKey::offset_delete, Type::group, Operation::remove, Audit::all},
    {Right::offset_delete_topic, ApiKey::offset_delete, Type::topic, Operation::read, Audit::all},
    {Right::describe_client_quotas, ApiKey::describe_client_quotas, Type::cluster,
     Operation::describe_configs, Audit::all},
    {Right::alter_client_quotas, ApiKey::alter_client_quotas, Type::cluster, Operation::alter_configs,
     Audit::all},
    {Right::describe_scram, ApiKey::describe_user_scram_credentials, Type::cluster, Operation::describe,
     Audit::all},
    {Right::alter_scram, ApiKey::alter_user_scram_credentials, Type::cluster, Operation::alter, Audit::all},
    {Right::describe_quorum, ApiKey::describe_quorum, Type::cluster, Operation::describe, Audit::all},
    {Right::update_features, ApiKey::update_features, Type::cluster, Operation::alter, Audit::all},
    {Right::describe_cluster, ApiKey::describe_cluster, Type::cluster, Operation::describe, Audit::all},
    {Right::describe_producers_topic, ApiKey::describe_producers, Type::topic, Operation::read, Audit::all},
    {Right::unregister_broker, ApiKey::unregister_broker, Type::cluster, Operation::alter, Audit::all},
    {Right::describe_transaction, ApiKey::describe_transactions, Type::transactional_id, Operation::describe,
     Audit::all},
    {Right::describe_transaction_topic, ApiKey::describe_transactions, Type::topic, Operation::describe,
     Audit::all},
    {Right::list_transaction, ApiKey::list_transactions, Type::transactional_id, Operation::describe,
     Audit::allowed_only},
    {Right::consumer_heartbeat_group, ApiKey::consumer_group_heartbeat, Type::group, Operation::read,
     Audit::all},
    {Right::consumer_heartbeat_topic, ApiKey::consumer_group_heartbeat, Type::topic, Operation::describe,
     Audit::all},
    {Right::consumer_heartbeat_matched_topic, ApiKey::consumer_group_heartbeat, Type::topic,
     Operation::describe, Audit::allowed_only},
    {Right::consumer_describe_group, ApiKey::consumer_group_describe, Type::group, Operation::describe,
     Audit::all},
    {Right::consumer_describe_topic, ApiKey::consumer_group_describe, Type::topic, Operation::describe,
     Audit::all},
    {Right::list_config_resources, ApiKey::list_config_resources, Type::cluster, Operation::describe_configs,
     Audit::all},
    {Right::describe_partitions_topic, ApiKey::describe_topic_partitions, Type::topic, Operation::describe,
     Audit::all},
    {Right::describe_all_partitions_topic, ApiKey::describe_topic_partitions, Type::topic,
     Operation::describe, Audit::allowed_only},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].right) != i) return false;
  return rows.size() == static_cast<std::size_t>(Right::count_);
}
static_assert(in_order());

const RightRow& row_of(Right right) {
  return rows[static_cast<std::size_t>(right)];
}

}  // namespace

std::span<const RightRow> all_rights() {
  return rows;
}

ErrorCode authorization_failed(Type type) {
  switch (type) {
    case Type::topic:
      return ErrorCode::topic_authorization_failed;
    case Type::group:
      return ErrorCode::group_authorization_failed;
    case Type::transactional_id:
      return ErrorCode::transactional_id_authorization_failed;
    case Type::delegation_token:
    case Type::user:
      return ErrorCode::delegation_token_authorization_failed;
    default:
      return ErrorCode::cluster_authorization_failed;
  }
}

ErrorCode authorization_failed(Right right) {
  return authorization_failed(row_of(right).resource);
}

bool Rights::ask(Right right, std::string_view resource, std::size_t references) const {
  const RightRow& row = row_of(right);
  return authorizer_->authorize(*who_, row.operation, row.resource, resource, row.audit, references);
}

bool Rights::may_on_some(Right right) const {
  if (authorizer_ == nullptr) return true;
  const RightRow& row = row_of(right);
  return authorizer_->authorize_some(*who_, row.operation, row.resource);
}

int32_t Rights::operations(Type type, std::string_view name) const {
  int32_t bits = 0;
  for (const Operation operation : security::supported_operations(type)) {
    if (authorizer_ == nullptr || authorizer_->authorize(*who_, operation, type, name, Audit::none))
      bits |= security::operation_bit(operation);
  }
  return bits;
}

}  // namespace barnabas::broker
