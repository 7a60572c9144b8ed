#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "cluster/controller_gateway.h"
#include "cluster/local_controller.h"
#include "cluster/local_quorum.h"
#include "metadata/publisher.h"

namespace barnabas::cluster {

struct LocalGatewayOptions {
  LocalQuorumOptions quorum;
  const metadata::StaticConfig* static_config = nullptr;  ///< outlives the gateway
  /// A snapshot is due so long after the first change that the last one has not; zero: only by size
  /// (metadata.log.max.snapshot.interval.ms).
  std::chrono::milliseconds snapshot_interval{3'600'000};
  /// The metadata log failed: no change is possible any more, and the broker should stop. Called once, on the
  /// gateway's thread.
  std::function<void(const Error&)> on_failure;
  /// A line for the broker's log. On the gateway's thread, or the one that calls start.
  std::function<void(const std::string&)> on_notice;
};

/// The controller of a broker on its own: LocalController and LocalQuorum on one thread. Operations that
/// arrive while the disk syncs are decided together and share the next sync.
class LocalGateway final : public ControllerGateway {
 public:
  /// Loads the metadata log, or makes it, and publishes the image that it holds, on the calling thread.
  /// Blocks. `disk`, `files` and `publisher` must outlive the gateway.
  static Result<std::unique_ptr<LocalGateway>> start(io::Disk& disk, storage::FilePool& files,
                                                     metadata::ImagePublisher& publisher,
                                                     LocalGatewayOptions options);
  /// Without close() before it this is a crash.
  ~LocalGateway() override;

  void create_topics(protocol::CreateTopicsRequest request, Done<protocol::CreateTopicsResponse> done,
                     std::shared_ptr<MutationQuota> quota = nullptr) override;
  void delete_topics(protocol::DeleteTopicsRequest request, Done<protocol::DeleteTopicsResponse> done,
                     std::shared_ptr<MutationQuota> quota = nullptr) override;
  void create_partitions(protocol::CreatePartitionsRequest request,
                         Done<protocol::CreatePartitionsResponse> done,
                         std::shared_ptr<MutationQuota> quota = nullptr) override;
  void incremental_alter_configs(protocol::IncrementalAlterConfigsRequest request,
                                 Done<protocol::IncrementalAlterConfigsResponse> done) override;
  void alter_configs(protocol::AlterConfigsRequest request,
                     Done<protocol::AlterConfigsResponse> done) override;
  void alter_client_quotas(protocol::AlterClientQuotasRequest request,
                           Done<protocol::AlterClientQuotasResponse> done) override;
  void elect_leaders(protocol::ElectLeadersRequest request,
                     Done<protocol::ElectLeadersResponse> done) override;
  void alter_partition_reassignments(protocol::AlterPartitionReassignmentsRequest request,
                                     Done<protocol::AlterPartitionReassignmentsResponse> done) override;
  void list_partition_reassignments(protocol::ListPartitionReassignmentsRequest request,
                                    Done<protocol::ListPartitionReassignmentsResponse> done) override;
  void update_features(protocol::UpdateFeaturesRequest request,
                       Done<protocol::UpdateFeaturesResponse> done) override;
  void describe_quorum(protocol::DescribeQuorumRequest request,
                       Done<protocol::DescribeQuorumResponse> done) override;
  void create_acls(protocol::CreateAclsRequest request, Done<protocol::CreateAclsResponse> done) override;
  void delete_acls(protocol::DeleteAclsRequest request, Done<protocol::DeleteAclsResponse> done) override;
  void unregister_broker(protocol::UnregisterBrokerRequest request,
                         Done<protocol::UnregisterBrokerResponse> done) override;
  void alter_user_scram_credentials(protocol::AlterUserScramCredentialsRequest request,
                                    Done<protocol::AlterUserScramCredentialsResponse> done) override;
  void create_delegation_token(CreateDelegationToken request,
                               Done<protocol::CreateDelegationTokenResponse> done) override;
  void renew_delegation_token(RenewDelegationToken request,
                              Done<protocol::RenewDelegationTokenResponse> done) override;
  void expire_delegation_token(ExpireDelegationToken request,
                               Done<protocol::ExpireDelegationTokenResponse> done) override;
  /// The controller's own: delegation tokens whose time is over go. Returns at once. Any thread.
  void remove_expired_tokens();
  void allocate_producer_ids(protocol::AllocateProducerIdsRequest request,
                             Done<protocol::AllocateProducerIdsResponse> done) override;
  void register_broker(protocol::BrokerRegistrationRequest request,
                       Done<protocol::BrokerRegistrationResponse> done) override;
  void heartbeat(protocol::BrokerHeartbeatRequest request,
                 Done<protocol::BrokerHeartbeatResponse> done) override;
  void assign_replicas_to_dirs(protocol::AssignReplicasToDirsRequest request,
                               Done<protocol::AssignReplicasToDirsResponse> done) override;

  /// Answers with REQUEST_TIMED_OUT what waits longer than its request allows, as when the disk hangs: what
  /// was not decided yet will not be done, what was decided may still come to be. From any thread, now and
  /// then.
  void expire(Instant now);

  /// Ends what waits, refuses what comes later, joins the thread and closes the log cleanly. Blocks. Not from
  /// the gateway's thread. An error leaves the log as after a crash, which loses nothing.
  Result<void> close();

  /// Commits so far, and how long they took together until they were durable. Any thread.
  struct CommitTimes {
    uint64_t count = 0;
    std::chrono::nanoseconds total{0};
  };
  CommitTimes commit_times() const;

 private:
  enum class OperationStage : uint8_t { waiting, deciding, decided, answered };
  struct Operation;
  template <class Request, class Response>
  struct TypedOperation;

  LocalGateway(metadata::ImagePublisher& publisher, LocalGatewayOptions options,
               std::unique_ptr<LocalQuorum> quorum);

  template <class Request, class Response>
  void submit(Request request, Done<Response> done,
              Outcome<Response> (LocalController::*decide)(const Request&, const ControllerState&) const,
              std::shared_ptr<MutationQuota> quota = nullptr);
  void run();
  bool wait_for_work();
  void take(Operation& operation);
  void commit_group();
  bool move_on(Operation& operation, OperationStage stage);
  void finish(Operation& operation, protocol::ErrorCode code);
  ControllerState state() const;
  void fail_for_good(const Error& error);
  void note(const std::string& line);
  std::optional<Instant> snapshot_deadline() const;
  void write_snapshot_if_due();
  void write_state();
  void stop_thread();

  metadata::ImagePublisher& publisher_;
  const LocalGatewayOptions options_;
  const LocalController controller_;
  std::unique_ptr<LocalQuorum> quorum_;
  // Of the thread alone.
  bool failed_ = false;
  bool state_written_ = false;
  std::vector<Operation*> group_;  ///< decided, and answered with the next commit
  std::vector<metadata::NextImage> images_;
  std::optional<Instant> first_news_;  ///< when the first change came that is in no snapshot

  std::atomic<uint64_t> commits_{0};
  std::atomic<int64_t> commits_ns_{0};

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Operation>> queue_;
  std::deque<std::shared_ptr<Operation>> in_process_;  ///< of the thread; changed under the lock
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace barnabas::cluster
