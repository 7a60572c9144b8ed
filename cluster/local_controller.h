#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "cluster/api_error.h"
#include "cluster/controller_gateway.h"
#include "cluster/delegation_token_requests.h"
#include "metadata/effective_config.h"
#include "metadata/image.h"
#include "metadata/record_list.h"
#include "metadata/static_config.h"
#include "protocol/error_code.h"
#include "protocol/messages/alter_user_scram_credentials_request.h"
#include "protocol/messages/alter_user_scram_credentials_response.h"

namespace barnabas::security {
class DelegationTokenIndex;
}

namespace barnabas::cluster {

/// What the controller makes of a request: the records to append as one atomic group (none: nothing changes),
/// and the response to give once they are on disk.
template <class Response>
struct Outcome {
  metadata::RecordList records;
  Response response;
};

/// The metadata quorum as its leader sees it.
struct QuorumStatus {
  LeaderEpoch epoch = no_leader_epoch;
  Uuid directory_id;                             ///< of this node's metadata log
  metadata::BrokerEndpoint controller_endpoint;  ///< where this node would listen for other members
};

/// The state that a request is decided upon.
struct ControllerState {
  const metadata::MetadataImage& image;
  Offset next_offset;  ///< that the first record will get
  TimestampMs now = no_timestamp;
  QuorumStatus quorum = {};
  MutationQuota* mutation_quota = nullptr;  ///< of the client who asks; null: it has none
};

/// The refusal when the client may not change so many partitions now.
std::optional<ApiError> quota_problem(const ControllerState& state, int64_t partitions);

struct LocalControllerOptions {
  NodeId node_id;
  const metadata::StaticConfig* static_config;   ///< outlives the controller
  std::function<Uuid()> new_id = &Uuid::random;  ///< for topics and tokens; tests make it foreseeable
};

/// Kafka's controller for a cluster of one broker: validates requests as Apache Kafka 4.4 does and turns them
/// into metadata records. No thread, clock, socket or file; the same state and request give the same outcome
/// but for new topic ids. One thread at a time: it remembers secrets of tokens that it has worked out.
class LocalController {
 public:
  explicit LocalController(LocalControllerOptions options);

  Outcome<protocol::CreateTopicsResponse> create_topics(const protocol::CreateTopicsRequest& request,
                                                        const ControllerState& state) const;
  Outcome<protocol::DeleteTopicsResponse> delete_topics(const protocol::DeleteTopicsRequest& request,
                                                        const ControllerState& state) const;
  Outcome<protocol::CreatePartitionsResponse> create_partitions(
      const protocol::CreatePartitionsRequest& request, const ControllerState& state) const;
  Outcome<protocol::IncrementalAlterConfigsResponse> incremental_alter_configs(
      const protocol::IncrementalAlterConfigsRequest& request, const ControllerState& state) const;
  Outcome<protocol::AlterConfigsResponse> alter_configs(const protocol::AlterConfigsRequest& request,
                                                        const ControllerState& state) const;
  Outcome<protocol::AlterClientQuotasResponse> alter_client_quotas(
      const protocol::AlterClientQuotasRequest& request, const ControllerState& state) const;
  /// Elects only what the image says is alive; partitions of all topics when the request names none.
  Outcome<protocol::ElectLeadersResponse> elect_leaders(const protocol::ElectLeadersRequest& request,
                                                        const ControllerState& state) const;
  /// A reassignment that needs no new replica to catch up is done at once, as in Kafka; another one is left
  /// under way.
  Outcome<protocol::AlterPartitionReassignmentsResponse> alter_partition_reassignments(
      const protocol::AlterPartitionReassignmentsRequest& request, const ControllerState& state) const;
  Outcome<protocol::ListPartitionReassignmentsResponse> list_partition_reassignments(
      const protocol::ListPartitionReassignmentsRequest& request, const ControllerState& state) const;
  /// All of the request or nothing (KIP-584, KIP-1022). Levels that records would be lost with are refused.
  Outcome<protocol::UpdateFeaturesResponse> update_features(const protocol::UpdateFeaturesRequest& request,
                                                            const ControllerState& state) const;
  Outcome<protocol::DescribeQuorumResponse> describe_quorum(const protocol::DescribeQuorumRequest& request,
                                                            const ControllerState& state) const;
  /// Forgets a broker that will not come back. Refuses to forget this one: it runs, and nobody else would
  /// serve.
  Outcome<protocol::UnregisterBrokerResponse> unregister_broker(
      const protocol::UnregisterBrokerRequest& request, const ControllerState& state) const;
  /// Of the password only what cannot be turned back into it gets into the records.
  Outcome<protocol::AlterUserScramCredentialsResponse> alter_user_scram_credentials(
      const protocol::AlterUserScramCredentialsRequest& request, const ControllerState& state) const;
  /// Delegation tokens (KIP-48), which delegation.token.secret.key turns on.
  Outcome<protocol::CreateDelegationTokenResponse> create_delegation_token(
      const CreateDelegationToken& request, const ControllerState& state) const;
  Outcome<protocol::RenewDelegationTokenResponse> renew_delegation_token(const RenewDelegationToken& request,
                                                                         const ControllerState& state) const;
  Outcome<protocol::ExpireDelegationTokenResponse> expire_delegation_token(
      const ExpireDelegationToken& request, const ControllerState& state) const;
  Outcome<ExpiredTokensRemoved> remove_expired_tokens(const RemoveExpiredTokens& request,
                                                      const ControllerState& state) const;
  /// Access control entries (KIP-801): what is there already is not made again, and is no error.
  Outcome<protocol::CreateAclsResponse> create_acls(const protocol::CreateAclsRequest& request,
                                                    const ControllerState& state) const;
  Outcome<protocol::DeleteAclsResponse> delete_acls(const protocol::DeleteAclsRequest& request,
                                                    const ControllerState& state) const;
  Outcome<protocol::AllocateProducerIdsResponse> allocate_producer_ids(
      const protocol::AllocateProducerIdsRequest& request, const ControllerState& state) const;

  /// Registers the broker, fenced. A broker that did not stop cleanly last time (its previous epoch is not
  /// the registered one) may have lost records that it had shown, so each partition that it leads gets a new
  /// leader epoch: clients then see that the log was cut.
  Outcome<protocol::BrokerRegistrationResponse> register_broker(
      const protocol::BrokerRegistrationRequest& request, const ControllerState& state) const;
  /// Unfences a broker that has caught up and wants it, and makes it leader where nobody leads and it may;
  /// fences one that wants to shut down. With one broker there is nobody to hand leaderships to: they stay.
  Outcome<protocol::BrokerHeartbeatResponse> heartbeat(const protocol::BrokerHeartbeatRequest& request,
                                                       const ControllerState& state) const;
  Outcome<protocol::AssignReplicasToDirsResponse> assign_replicas_to_dirs(
      const protocol::AssignReplicasToDirsRequest& request, const ControllerState& state) const;

 private:
  /// The token that a request is about, or why there is none.
  std::expected<const metadata::DelegationToken*, protocol::ErrorCode> token_asked_for(
      ByteView hmac, const ControllerState& state) const;

  LocalControllerOptions options_;
  std::shared_ptr<security::DelegationTokenIndex> token_index_;
};

/// Number of producer ids in a block (KIP-730).
inline constexpr int32_t producer_id_block_size = 1000;
/// Most records that one request may make.
inline constexpr std::size_t records_per_request_max = 10'000;
/// Most memory that the answer to one DeleteAcls may take, about.
inline constexpr std::size_t delete_acls_answer_bytes_max = 64 << 20;
/// Most partitions that one request may make.
inline constexpr int64_t partitions_per_request_max = 10'000;

}  // namespace barnabas::cluster
