#include "cluster/local_gateway.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "cluster/error_responses.h"

namespace barnabas::cluster {

using protocol::ErrorCode;

/// A start is not to wait for a file that nobody needs before the next one.
constexpr std::chrono::milliseconds idle_before_state{500};

/// One waiting request.
struct LocalGateway::Operation {
  virtual ~Operation() = default;
  /// The records that the request makes; keeps the response.
  virtual metadata::RecordList decide(const LocalController& controller, const ControllerState& state) = 0;
  /// Hands out the response that was decided, or one that refuses everything.
  virtual void complete() = 0;
  virtual void refuse(ErrorCode code) = 0;
};

template <class Request, class Response>
struct LocalGateway::TypedOperation final : Operation {
  using Decide = Outcome<Response> (LocalController::*)(const Request&, const ControllerState&) const;

  TypedOperation(Request its_request, Done<Response> its_done, Decide its_decide)
      : request(std::move(its_request)), done(std::move(its_done)), decision(its_decide) {}

  metadata::RecordList decide(const LocalController& controller, const ControllerState& state) override {
    auto outcome = (controller.*decision)(request, state);
    response = std::move(outcome.response);
    return std::move(outcome.records);
  }
  void complete() override { done(std::move(response)); }
  void refuse(ErrorCode code) override { done(error_response(request, code)); }

  Request request;
  Response response;
  Done<Response> done;
  Decide decision;
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
                              const) {
  auto operation =
      std::make_unique<TypedOperation<Request, Response>>(std::move(request), std::move(done), decide);
  {
    const std::lock_guard lock(mutex_);
    if (!closing_) {
      queue_.push_back(std::move(operation));
    }
  }
  if (operation) {
    operation->refuse(ErrorCode::broker_not_available);
  } else {
    wake_.notify_one();
  }
}

void LocalGateway::run() {
  while (true) {
    auto batch = wait_for_work();
    if (batch.empty()) return;
    process(std::move(batch));
    write_snapshot_if_due();
  }
}

/// Until there are operations, or the gateway closes and there are none; does what is due meanwhile.
std::deque<std::unique_ptr<LocalGateway::Operation>> LocalGateway::wait_for_work() {
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
  return std::exchange(queue_, {});
}

void LocalGateway::process(std::deque<std::unique_ptr<Operation>> batch) {
  for (const auto& operation : batch) take(*operation);
  commit_group();
}

void LocalGateway::take(Operation& operation) {
  if (failed_) return operation.refuse(ErrorCode::kafka_storage_error);
  const auto records = operation.decide(controller_, {*quorum_->image(), quorum_->next_offset()});
  if (!records.empty()) {
    if (!quorum_->fits(records)) {
      commit_group();
      // What it was decided upon need not have come to be.
      return take(operation);
    }
    auto next = quorum_->append(records, wall_clock_now());
    if (!next) {
      fail_for_good(next.error());
      return operation.refuse(ErrorCode::kafka_storage_error);
    }
    images_.push_back(std::move(*next));
  }
  group_.push_back(&operation);
}

/// Makes durable what was decided, shows it and answers; or refuses all of it.
void LocalGateway::commit_group() {
  const auto group = std::exchange(group_, {});
  auto images = std::exchange(images_, {});
  if (!images.empty() && !failed_) {
    if (auto committed = quorum_->commit(wall_clock_now()); !committed) {
      const Error& error = committed.error();
      if (error.kind != ErrorKind::no_space && error.kind != ErrorKind::too_large) {
        fail_for_good(error);
      } else {
        note("A change of the metadata was refused: " + error.message);
        for (Operation* operation : group) operation->refuse(ErrorCode::kafka_storage_error);
        return;
      }
    }
  }
  if (failed_) {
    // Nothing of this group is known to be on disk.
    for (Operation* operation : group) operation->refuse(ErrorCode::kafka_storage_error);
    return;
  }
  for (auto& next : images) publisher_.publish(next.changes, std::move(next.image));
  for (Operation* operation : group) operation->complete();
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
                                 Done<protocol::CreateTopicsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::create_topics);
}
void LocalGateway::delete_topics(protocol::DeleteTopicsRequest request,
                                 Done<protocol::DeleteTopicsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::delete_topics);
}
void LocalGateway::create_partitions(protocol::CreatePartitionsRequest request,
                                     Done<protocol::CreatePartitionsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::create_partitions);
}
void LocalGateway::incremental_alter_configs(protocol::IncrementalAlterConfigsRequest request,
                                             Done<protocol::IncrementalAlterConfigsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::incremental_alter_configs);
}
void LocalGateway::alter_configs(protocol::AlterConfigsRequest request, Done<protocol::AlterConfigsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::alter_configs);
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
