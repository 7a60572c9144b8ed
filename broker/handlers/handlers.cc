#include "broker/handlers/handlers.h"

#include <algorithm>
#include <array>

#include "broker/handlers/access_control.h"
#include "broker/handlers/add_offsets_to_txn.h"
#include "broker/handlers/add_partitions_to_txn.h"
#include "broker/handlers/alter_configs.h"
#include "broker/handlers/alter_replica_log_dirs.h"
#include "broker/handlers/alter_user_scram_credentials.h"
#include "broker/handlers/api_versions.h"
#include "broker/handlers/consumer_group_describe.h"
#include "broker/handlers/consumer_group_heartbeat.h"
#include "broker/handlers/controller_requests.h"
#include "broker/handlers/create_partitions.h"
#include "broker/handlers/create_topics.h"
#include "broker/handlers/delegation_tokens.h"
#include "broker/handlers/delete_groups.h"
#include "broker/handlers/delete_records.h"
#include "broker/handlers/delete_topics.h"
#include "broker/handlers/describe_client_quotas.h"
#include "broker/handlers/describe_cluster.h"
#include "broker/handlers/describe_configs.h"
#include "broker/handlers/describe_groups.h"
#include "broker/handlers/describe_log_dirs.h"
#include "broker/handlers/describe_producers.h"
#include "broker/handlers/describe_topic_partitions.h"
#include "broker/handlers/describe_transactions.h"
#include "broker/handlers/describe_user_scram_credentials.h"
#include "broker/handlers/end_txn.h"
#include "broker/handlers/fetch.h"
#include "broker/handlers/find_coordinator.h"
#include "broker/handlers/heartbeat.h"
#include "broker/handlers/incremental_alter_configs.h"
#include "broker/handlers/init_producer_id.h"
#include "broker/handlers/join_group.h"
#include "broker/handlers/leave_group.h"
#include "broker/handlers/list_config_resources.h"
#include "broker/handlers/list_groups.h"
#include "broker/handlers/list_offsets.h"
#include "broker/handlers/list_transactions.h"
#include "broker/handlers/metadata.h"
#include "broker/handlers/offset_commit.h"
#include "broker/handlers/offset_delete.h"
#include "broker/handlers/offset_fetch.h"
#include "broker/handlers/offset_for_leader_epoch.h"
#include "broker/handlers/produce.h"
#include "broker/handlers/run.h"
#include "broker/handlers/sasl_authenticate.h"
#include "broker/handlers/sasl_handshake.h"
#include "broker/handlers/sync_group.h"
#include "broker/handlers/telemetry.h"
#include "broker/handlers/txn_offset_commit.h"
#include "broker/handlers/write_txn_markers.h"
#include "protocol/messages/add_offsets_to_txn_response.h"
#include "protocol/messages/add_partitions_to_txn_response.h"
#include "protocol/messages/alter_client_quotas_response.h"
#include "protocol/messages/alter_configs_response.h"
#include "protocol/messages/consumer_group_describe_response.h"
#include "protocol/messages/consumer_group_heartbeat_response.h"
#include "protocol/messages/create_partitions_response.h"
#include "protocol/messages/create_topics_response.h"
#include "protocol/messages/delete_groups_response.h"
#include "protocol/messages/delete_records_response.h"
#include "protocol/messages/delete_topics_response.h"
#include "protocol/messages/describe_groups_response.h"
#include "protocol/messages/describe_log_dirs_response.h"
#include "protocol/messages/describe_transactions_response.h"
#include "protocol/messages/end_txn_response.h"
#include "protocol/messages/fetch_response.h"
#include "protocol/messages/find_coordinator_response.h"
#include "protocol/messages/heartbeat_response.h"
#include "protocol/messages/incremental_alter_configs_response.h"
#include "protocol/messages/init_producer_id_response.h"
#include "protocol/messages/join_group_response.h"
#include "protocol/messages/leave_group_response.h"
#include "protocol/messages/list_groups_response.h"
#include "protocol/messages/list_offsets_response.h"
#include "protocol/messages/list_transactions_response.h"
#include "protocol/messages/metadata_response.h"
#include "protocol/messages/offset_commit_response.h"
#include "protocol/messages/offset_delete_response.h"
#include "protocol/messages/offset_fetch_response.h"
#include "protocol/messages/produce_response.h"
#include "protocol/messages/sync_group_response.h"
#include "protocol/messages/txn_offset_commit_response.h"
#include "protocol/messages/write_txn_markers_response.h"

namespace barnabas::broker {
namespace {

/// Kafka 4 announces Produce from 0, since old librdkafka looks at it, and serves it from 3.
constexpr HandlerEntry produce_entry() {
  HandlerEntry produce = entry<ProduceHandler>();
  produce.announced_min_version = 0;
  return produce;
}

constexpr HandlerEntry init_producer_id_entry() {
  HandlerEntry init = entry<InitProducerIdHandler>();
  init.max_version = InitProducerIdHandler::max_version;
  return init;
}

constexpr HandlerEntry api_versions_entry() {
  using Request = protocol::ApiVersionsRequest;
  return {Request::api_key, Request::min_version, Request::max_version, Request::min_version,
          &ApiVersionsHandler::run};
}

constexpr std::array handlers{
    produce_entry(),
    entry<FetchHandler>(),
    entry<ListOffsetsHandler>(),
    entry<MetadataHandler>(),
    entry<OffsetCommitHandler>(),
    entry<OffsetFetchHandler>(),
    entry<FindCoordinatorHandler>(),
    entry<JoinGroupHandler>(),
    entry<HeartbeatHandler>(),
    entry<LeaveGroupHandler>(),
    entry<SyncGroupHandler>(),
    entry<DescribeGroupsHandler>(),
    entry<ListGroupsHandler>(),
    entry<SaslHandshakeHandler>(),
    api_versions_entry(),
    entry<CreateTopicsHandler>(),
    entry<DeleteTopicsHandler>(),
    entry<DeleteRecordsHandler>(),
    init_producer_id_entry(),
    entry<OffsetForLeaderEpochHandler>(),
    entry<AddPartitionsToTxnHandler>(),
    entry<AddOffsetsToTxnHandler>(),
    entry<EndTxnHandler>(),
    entry<WriteTxnMarkersHandler>(),
    entry<TxnOffsetCommitHandler>(),
    entry<DescribeAclsHandler>(),
    entry<CreateAclsHandler>(),
    entry<DeleteAclsHandler>(),
    entry<DescribeConfigsHandler>(),
    entry<AlterConfigsHandler>(),
    entry<AlterReplicaLogDirsHandler>(),
    entry<DescribeLogDirsHandler>(),
    entry<SaslAuthenticateHandler>(),
    entry<CreatePartitionsHandler>(),
    entry<CreateDelegationTokenHandler>(),
    entry<RenewDelegationTokenHandler>(),
    entry<ExpireDelegationTokenHandler>(),
    entry<DescribeDelegationTokenHandler>(),
    entry<DeleteGroupsHandler>(),
    entry<ElectLeadersHandler>(),
    entry<IncrementalAlterConfigsHandler>(),
    entry<AlterPartitionReassignmentsHandler>(),
    entry<ListPartitionReassignmentsHandler>(),
    entry<OffsetDeleteHandler>(),
    entry<DescribeClientQuotasHandler>(),
    entry<AlterClientQuotasHandler>(),
    entry<DescribeUserScramCredentialsHandler>(),
    entry<AlterUserScramCredentialsHandler>(),
    entry<DescribeQuorumHandler>(),
    entry<UpdateFeaturesHandler>(),
    entry<DescribeClusterHandler>(),
    entry<DescribeProducersHandler>(),
    entry<UnregisterBrokerHandler>(),
    entry<DescribeTransactionsHandler>(),
    entry<ListTransactionsHandler>(),
    entry<ConsumerGroupHeartbeatHandler>(),
    entry<ConsumerGroupDescribeHandler>(),
    entry<GetTelemetrySubscriptionsHandler>(),
    entry<PushTelemetryHandler>(),
    entry<ListConfigResourcesHandler>(),
    entry<DescribeTopicPartitionsHandler>(),
};
static_assert(std::ranges::is_sorted(handlers, {}, &HandlerEntry::api));

}  // namespace

std::span<const HandlerEntry> all_handlers() {
  return handlers;
}

const HandlerEntry* find_handler(protocol::ApiKey api) {
  const auto at = std::ranges::lower_bound(handlers, api, {}, &HandlerEntry::api);
  return at != handlers.end() && at->api == api ? &*at : nullptr;
}

}  // namespace barnabas::broker
