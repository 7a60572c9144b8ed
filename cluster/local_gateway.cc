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
  if (options.on_notice && !quorum->recovery().lossless())
    options.on_notice("The metadata log was cut: " + quorum->recovery().to_string());
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

LocalGateway::~LocalGateway() { stop_thread(); }

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
  return quorum_->close_clean();
}

template <class Request, class Response>
void LocalGateway::submit(Request request, Done<Response> done,
                          Outcome<Response> (LocalController::*decide)(const Request&, const ControllerState&) const) {
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
  bool state_written = false;
  const auto has_work = [this] { return closing_ || !queue_.empty(); };
  while (true) {
    std::deque<std::unique_ptr<Operation>> batch;
    {
      std::unique_lock lock(mutex_);
      if (!state_written && !wake_.wait_for(lock, idle_before_state, has_work)) {
        lock.unlock();
        write_state();
        state_written = true;
        continue;
      }
      wake_.wait(lock, has_work);
      if (queue_.empty()) return;
      batch.swap(queue_);
    }
    process(std::move(batch));
    write_snapshot_if_due();
  }
}

void LocalGateway::process(std::deque<std::unique_ptr<Operation>> batch) {
  std::vector<metadata::NextImage> images;
  std::vector<Operation*> decided;
  for (const auto& operation : batch) {
    if (failed_) {
      operation->refuse(ErrorCode::kafka_storage_error);
    } else if (append(*operation, images)) {
      decided.push_back(operation.get());
    }
  }
  if (!images.empty() && !failed_) {
    if (auto committed = quorum_->commit(); !committed) fail_for_good(committed.error());
  }
  if (failed_) {
    // Nothing of this batch is known to be on disk.
    for (Operation* operation : decided) operation->refuse(ErrorCode::kafka_storage_error);
    return;
  }
  for (auto& next : images) publisher_.publish(next.changes, std::move(next.image));
  for (Operation* operation : decided) operation->complete();
}

/// Whether the operation waits for the commit; if not it has been answered.
bool LocalGateway::append(Operation& operation, std::vector<metadata::NextImage>& images) {
  const auto records = operation.decide(controller_, {*quorum_->image(), quorum_->next_offset()});
  if (records.empty()) return true;
  auto next = quorum_->append(records, wall_clock_now());
  if (next) {
    images.push_back(std::move(*next));
    return true;
  }
  if (next.error().kind != ErrorKind::no_space && next.error().kind != ErrorKind::too_large)
    fail_for_good(next.error());
  else if (options_.on_notice)
    options_.on_notice("A change of the metadata was refused: " + next.error().message);
  operation.refuse(ErrorCode::kafka_storage_error);
  return false;
}

void LocalGateway::fail_for_good(const Error& error) {
  failed_ = true;
  if (options_.on_failure) options_.on_failure(error);
}

void LocalGateway::write_snapshot_if_due() {
  if (failed_ || !quorum_->snapshot_due()) return;
  auto written = quorum_->write_snapshot(wall_clock_now());
  if (written) return;
  if (written.error().kind == ErrorKind::no_space) {
    if (options_.on_notice) options_.on_notice("No snapshot of the metadata: " + written.error().message);
  } else {
    fail_for_good(written.error());
  }
}

void LocalGateway::write_state() {
  if (failed_) return;
  auto written = quorum_->write_state();
  if (written) return;
  if (written.error().kind != ErrorKind::no_space) fail_for_good(written.error());
}

void LocalGateway::create_topics(protocol::CreateTopicsRequest request, Done<protocol::CreateTopicsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::create_topics);
}
void LocalGateway::delete_topics(protocol::DeleteTopicsRequest request, Done<protocol::DeleteTopicsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::delete_topics);
}
void LocalGateway::create_partitions(protocol::CreatePartitionsRequest request,
                                     Done<protocol::CreatePartitionsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::create_partitions);
}
void LocalGateway::allocate_producer_ids(protocol::AllocateProducerIdsRequest request,
                                         Done<protocol::AllocateProducerIdsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::allocate_producer_ids);
}
void LocalGateway::register_broker(protocol::BrokerRegistrationRequest request,
                                   Done<protocol::BrokerRegistrationResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::register_broker);
}
void LocalGateway::heartbeat(protocol::BrokerHeartbeatRequest request, Done<protocol::BrokerHeartbeatResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::heartbeat);
}
void LocalGateway::assign_replicas_to_dirs(protocol::AssignReplicasToDirsRequest request,
                                           Done<protocol::AssignReplicasToDirsResponse> done) {
  submit(std::move(request), std::move(done), &LocalController::assign_replicas_to_dirs);
}

}  // namespace barnabas::cluster
