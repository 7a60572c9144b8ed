#include "cluster/local_gateway.h"

#include <pthread.h>

#include <chrono>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "cluster/error_responses.h"

namespace barnabas::cluster {

using protocol::ErrorCode;

/// A start is not to wait for a file that nobody needs before the next one.
constexpr std::chrono::milliseconds idle_before_state{500};

/// How long a request waits that does not say so itself: as long as Kafka's brokers wait for their
/// controller.
constexpr std::chrono::milliseconds default_timeout{60'000};

namespace {

template <class Request>
constexpr bool is_of_the_broker_itself = false;
template <>
constexpr bool is_of_the_broker_itself<protocol::BrokerRegistrationRequest> = true;
template <>
constexpr bool is_of_the_broker_itself<protocol::BrokerHeartbeatRequest> = true;
template <>
constexpr bool is_of_the_broker_itself<protocol::AssignReplicasToDirsRequest> = true;

/// No time at all, for those requests whose timeout_ms means that. One that asks for nothing needs none.
template <class Request>
bool has_no_time(const Request& request) {
  using protocol::UpdateFeaturesRequest, protocol::ListPartitionReassignmentsRequest;
  if constexpr (std::is_same_v<Request, UpdateFeaturesRequest> ||
                std::is_same_v<Request, ListPartitionReassignmentsRequest>) {
    return false;
  } else if constexpr (std::is_same_v<Request, protocol::AlterPartitionReassignmentsRequest>) {
    return request.timeout_ms <= 0 && !request.topics.empty();
  } else if constexpr (std::is_same_v<Request, protocol::ElectLeadersRequest>) {
    return request.timeout_ms <= 0 && !(request.topic_partitions && request.topic_partitions->empty());
  } else if constexpr (requires { request.timeout_ms; }) {
    return request.timeout_ms <= 0;
  } else {
    return false;
  }
}

template <class Request>
Instant deadline_of(const Request& request) {
  if constexpr (is_of_the_broker_itself<Request>) return Instant::max();
  auto timeout = default_timeout;
  if constexpr (requires { request.timeout_ms; }) {
    if (request.timeout_ms > 0) timeout = std::chrono::milliseconds(request.timeout_ms);
  }
  return std::chrono::steady_clock::now() + timeout;
}

}  // namespace

/// One waiting request.
struct LocalGateway::Operation {
  virtual ~Operation() = default;
  /// The records that the request makes; keeps the response.
  virtual metadata::RecordList decide(const LocalController& controller, const ControllerState& state) = 0;
  /// Hands out the response that was decided, or one that refuses everything.
  virtual void complete() = 0;
  virtual void refuse(ErrorCode code) = 0;

  Instant deadline;
  OperationStage stage =
      OperationStage::waiting;  ///< under the gateway's lock; whoever makes it `answered` answers
};

template <class Request, class Response>
struct LocalGateway::TypedOperation final : Operation {
  using Decide = Outcome<Response> (LocalController::*)(const Request&, const ControllerState&) const;

  TypedOperation(Request its_request, Done<Response> its_done, Decide its_decide,
                 std::shared_ptr<MutationQuota> its_quota)
      : request(std::move(its_request)),
        done(std::move(its_done)),
        decision(its_decide),
        quota(std::move(its_quota)) {
    deadline = deadline_of(request);
  }

  metadata::RecordList decide(const LocalController& controller, const ControllerState& state) override {
    ControllerState with_quota = state;
    with_quota.mutation_quota = quota.get();
    auto outcome = (controller.*decision)(request, with_quota);
    response = std::move(outcome.response);
    return std::move(outcome.records);
  }
  void complete() override { done(std::move(response)); }
  void refuse(ErrorCode code) override { done(error_response(request, code)); }

  Request request;
  Response response;
  Done<Response> done;
  Decide decision;
  std::shared_ptr<MutationQuota> quota;
};

Result<std::unique_ptr<LocalGateway>> LocalGateway::start(io::Disk& disk, storage::FilePool& files,
                                                          metadata::ImagePublisher& publisher,
                                                          LocalGatewayOptions options) {
  BARNABAS_ASSIGN(auto quorum, LocalQuorum::open(disk, files, options.quorum, wall_clock_now()));
  if (const std::string healed = quorum->healed(); options.on_notice && !healed.empty())
    options.on_notice("The metadata log was made good: " + healed);
  publisher.publish(metadata::all_of(*quorum->image()), quorum->image());
  return std::unique_ptr<LocalGateway>(new LocalGateway(publisher, std::move(options), std::move(quorum)));
}

LocalGateway::LocalGateway(metadata::ImagePublisher& publisher, LocalGatewayOptions options,
                           std::unique_ptr<LocalQuorum> quorum)
    : publisher_(publisher),
      options_(std::move(options)),
      controller_({.node_id = options_.quorum.node_id, .static_config = options_.static_config}),
      quorum_(std::move(quorum)),
      thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), "metadata");
}

LocalGateway::~LocalGateway() {
  stop_thread();
}

void LocalGateway::stop_thread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<void> LocalGateway::close() {
  stop_thread();
  if (failed_) return fail(ErrorKind::offline, "the metadata log failed");
  return quorum_->close_clean(wall_clock_now());
}

template <class Request, class Response>
void LocalGateway::submit(Request request, Done<Response> done,
                          Outcome<Response> (LocalController::*decide)(const Request&, const ControllerState&)
                              const,
                          std::shared_ptr<MutationQuota> quota) {
  auto operation = std::make_shared<TypedOperation<Request, Response>>(std::move(request), std::move(done),
                                                                       decide, std::move(quota));
  if (has_no_time(operation->request)) return operation->refuse(ErrorCode::request_timed_out);
  bool queued = false;
  {
    const std::lock_guard lock(mutex_);
    queued = !closing_;
    if (queued) queue_.push_back(operation);
  }
  if (queued) {
    wake_.notify_one();
  } else {
    operation->refuse(ErrorCode::broker_not_available);
  }
}

void LocalGateway::expire(Instant now) {
  std::vector<std::shared_ptr<Operation>> expired;
  {
    const std::lock_guard lock(mutex_);
    const auto overdue = [&](const std::shared_ptr<Operation>& operation) {
      using Stage = OperationStage;
      const bool open = operation->stage == Stage::waiting || operation->stage == Stage::decided;
      if (!open || operation->deadline > now) return false;
      operation->stage = Stage::answered;
      expired.push_back(operation);
      return true;
    };
    std::erase_if(queue_, overdue);
    for (const auto& operation : in_process_) (void)overdue(operation);
  }
  for (const auto& operation : expired) operation->refuse(ErrorCode::request_timed_out);
}

void LocalGateway::run() {
  while (true) {
    const bool goes_on = wait_for_work();
    if (!goes_on) return;
    for (const auto& operation : in_process_) take(*operation);  // nobody else changes it meanwhile
    commit_group();
    {
      const std::lock_guard lock(mutex_);
      in_process_.clear();
    }
    write_snapshot_if_due();
  }
}

/// Until there are operations, then takes them and is true, or the gateway closes and there are none; does
/// what is due meanwhile.
bool LocalGateway::wait_for_work() {
  const auto has_work = [this] { return closing_ || !queue_.empty(); };
  std::unique_lock lock(mutex_);
  while (!has_work()) {
    const auto snapshot_at = snapshot_deadline();
    if (!state_written_) {
      if (wake_.wait_for(lock, idle_before_state, has_work)) break;
    } else if (snapshot_at) {
      if (wake_.wait_until(lock, *snapshot_at, has_work)) break;
    } else {
      wake_.wait(lock, has_work);
      break;
    }
    lock.unlock();
    if (!state_written_) write_state();
    write_snapshot_if_due();
    lock.lock();
  }
  in_process_.swap(queue_);
  return !in_process_.empty();
}

void LocalGateway::take(Operation& operation) {
  if (failed_) return finish(operation, ErrorCode::kafka_storage_error);
  if (!move_on(operation, OperationStage::deciding)) return;
  const auto records = operation.decide(controller_, state());
  if (!records.empty() && !quorum_->fits(records)) {
    // What it was decided upon need not come to be.
    (void)move_on(operation, OperationStage::waiting);
    commit_group();
    return take(operation);
  }
  (void)move_on(operation, OperationStage::decided);
  if (!records.empty()) {
    auto next = quorum_->append(records, wall_clock_now());
    if (!next) {
      fail_for_good(next.error());
      return finish(operation, ErrorCode::kafka_storage_error);
    }
    images_.push_back(std::move(*next));
  }
  group_.push_back(&operation);
}

/// Makes durable what was decided, shows it and answers; or refuses all of it.
void LocalGateway::commit_group() {
  const auto group = std::exchange(group_, {});
  auto images = std::exchange(images_, {});
  ErrorCode code = ErrorCode::none;
  if (!images.empty() && !failed_) {
    const Instant begin = std::chrono::steady_clock::now();
    auto committed = quorum_->commit(wall_clock_now());
    commits_ns_ += (std::chrono::steady_clock::now() - begin).count();
    ++commits_;
    if (!committed) {
      const Error& error = committed.error();
      if (error.kind != ErrorKind::no_space && error.kind != ErrorKind::too_large) {
        fail_for_good(error);
      } else {
        note("A change of the metadata was refused: " + error.message);
        code = ErrorCode::kafka_storage_error;
      }
    }
  }
  if (failed_) code = ErrorCode::kafka_storage_error;  // nothing of this group is known to be on disk
  if (code == ErrorCode::none) {
    for (auto& next : images) publisher_.publish(next.changes, std::move(next.image));
  }
  for (Operation* operation : group) finish(*operation, code);
}

LocalGateway::CommitTimes LocalGateway::commit_times() const {
  return {commits_.load(), std::chrono::nanoseconds(commits_ns_.load())};
}

/// False if the operation was answered while it waited.
bool LocalGateway::move_on(Operation& operation, OperationStage stage) {
  const std::lock_guard lock(mutex_);
  if (operation.stage == OperationStage::answered) return false;
  operation.stage = stage;
  return true;
}

/// Answers, unless the operation took too long and was answered before.
void LocalGateway::finish(Operation& operation, ErrorCode code) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(operation.stage, OperationStage::answered) == OperationStage::answered) return;
  }
  if (code == ErrorCode::none) {
    operation.complete();
  } else {
    operation.refuse(code);
  }
}

ControllerState LocalGateway::state() const {
  const LocalQuorumOptions& quorum = quorum_->options();
  return {*quorum_->image(), quorum_->next_offset(), wall_clock_now(),
          QuorumStatus{quorum_->epoch(), quorum.directory_id, quorum.controller_endpoint}};
}

void LocalGateway::fail_for_good(const Error& error) {
  failed_ = true;
  if (options_.on_failure) options_.on_failure(error);
}

void LocalGateway::note(const std::string& line) {
  if (options_.on_notice) options_.on_notice(line);
}

std::optional<Instant> LocalGateway::snapshot_deadline() const {
  if (failed_ || !first_news_ || options_.snapshot_interval.count() <= 0) return std::nullopt;
  return *first_news_ + options_.snapshot_interval;
}

void LocalGateway::write_snapshot_if_due() {
  if (failed_) return;
  const Instant now = std::chrono::steady_clock::now();
  if (!quorum_->has_news_since_snapshot()) {
    first_news_.reset();
  } else if (!first_news_) {
    first_news_ = now;
  }
  const auto deadline = snapshot_deadline();
  if (!quorum_->snapshot_due() && (!deadline || now < *deadline)) return;
  auto written = quorum_->write_snapshot(wall_clock_now());
  if (written) {
    first_news_.reset();
  } else if (written.error().kind == ErrorKind::no_space) {
    first_news_ = now;  // not before another interval, or more changes
    note("No snapshot of the metadata: " + written.error().message);
  } else {
    fail_for_good(written.error());
  }
}

void LocalGateway::write_state() {
  state_written_ = true;
  if (failed_) return;
  auto written = quorum_->write_state();
  if (written) return;
  if (written.error().kind != ErrorKind::no_space) fail_for_good(written.error());
}

void LocalGateway::create_topics(protocol::CreateTopicsRequest request,
                                 Done<protocol::CreateTopicsResponse> done,
                                 std::shared_ptr<MutationQuota> quota) {
  submit(std::move(request), std::move(done), &LocalController::create_topics, std::move(quota));
}
void LocalGateway::delete_topics(protocol::DeleteTopicsRequest request,
                                 Done<protocol::DeleteTopicsResponse> done,
                                 std::shared_ptr<MutationQuota> quota) {
  submit(std::move(request), std::move(done), &LocalController::delete_topics, std::move(quota));
}
void LocalGateway::create_partitions(protocol::CreatePartitionsRequest request,
                                     Done<protocol::CreatePartitionsResponse> done,
                                     std::shared_ptr<MutationQuota> quota) {
  submit(std::move(request), std::move(done), &LocalController::create_partitions, std::move(quota));
}
void LocalGateway::incremental_alter_configs(protocol::IncrementalAlterConfigsRequest request,
                                             Done<protocol::IncrementalAlterConfigsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::incremental_alter_configs);
}
void LocalGateway::alter_configs(protocol::AlterConfigsRequest request,
                                 Done<protocol::AlterConfigsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::alter_configs);
}
void LocalGateway::alter_client_quotas(protocol::AlterClientQuotasRequest request,
                                       Done<protocol::AlterClientQuotasResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::alter_client_quotas);
}
void LocalGateway::elect_leaders(protocol::ElectLeadersRequest request,
                                 Done<protocol::ElectLeadersResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::elect_leaders);
}
void LocalGateway::alter_partition_reassignments(protocol::AlterPartitionReassignmentsRequest request,
                                                 Done<protocol::AlterPartitionReassignmentsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::alter_partition_reassignments);
}
void LocalGateway::list_partition_reassignments(protocol::ListPartitionReassignmentsRequest request,
                                                Done<protocol::ListPartitionReassignmentsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::list_partition_reassignments);
}
void LocalGateway::update_features(protocol::UpdateFeaturesRequest request,
                                   Done<protocol::UpdateFeaturesResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::update_features);
}
void LocalGateway::describe_quorum(protocol::DescribeQuorumRequest request,
                                   Done<protocol::DescribeQuorumResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::describe_quorum);
}
void LocalGateway::create_acls(protocol::CreateAclsRequest request, Done<protocol::CreateAclsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::create_acls);
}
void LocalGateway::delete_acls(protocol::DeleteAclsRequest request, Done<protocol::DeleteAclsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::delete_acls);
}
void LocalGateway::unregister_broker(protocol::UnregisterBrokerRequest request,
                                     Done<protocol::UnregisterBrokerResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::unregister_broker);
}
void LocalGateway::alter_user_scram_credentials(protocol::AlterUserScramCredentialsRequest request,
                                                Done<protocol::AlterUserScramCredentialsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::alter_user_scram_credentials);
}
void LocalGateway::create_delegation_token(CreateDelegationToken request,
                                           Done<protocol::CreateDelegationTokenResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::create_delegation_token);
}
void LocalGateway::renew_delegation_token(RenewDelegationToken request,
                                          Done<protocol::RenewDelegationTokenResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::renew_delegation_token);
}
void LocalGateway::expire_delegation_token(ExpireDelegationToken request,
                                           Done<protocol::ExpireDelegationTokenResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::expire_delegation_token);
}
void LocalGateway::remove_expired_tokens() {
  submit(RemoveExpiredTokens{}, Done<ExpiredTokensRemoved>([](ExpiredTokensRemoved) {}),
         &LocalController::remove_expired_tokens);
}
void LocalGateway::allocate_producer_ids(protocol::AllocateProducerIdsRequest request,
                                         Done<protocol::AllocateProducerIdsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::allocate_producer_ids);
}
void LocalGateway::register_broker(protocol::BrokerRegistrationRequest request,
                                   Done<protocol::BrokerRegistrationResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::register_broker);
}
void LocalGateway::heartbeat(protocol::BrokerHeartbeatRequest request,
                             Done<protocol::BrokerHeartbeatResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::heartbeat);
}
void LocalGateway::assign_replicas_to_dirs(protocol::AssignReplicasToDirsRequest request,
                                           Done<protocol::AssignReplicasToDirsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::assign_replicas_to_dirs);
}

}  // namespace barnabas::cluster
