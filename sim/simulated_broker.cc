#include "sim/simulated_broker.h"

#include <chrono>
#include <utility>

#include "metadata/metadata_test_support.h"

namespace barnabas::sim {
namespace {

using std::chrono::milliseconds;

constexpr int64_t sync_ms_max = 8;
constexpr int data_partitions = 3;

metadata::MetadataImagePtr image_of_topics() {
  namespace md = metadata::testing;
  metadata::MetadataDelta delta(metadata::MetadataImage{});
  const auto add = [&](const auto& record) {
    const auto done = delta.replay(protocol::MetadataRecord(record), {});
    BARNABAS_ASSERT(done.has_value());
  };
  protocol::FeatureLevelRecord feature;
  feature.name = "transaction.version";
  feature.feature_level = 2;
  add(feature);
  add(md::topic("t", md::id(1)));
  for (int i = 0; i < data_partitions; ++i) add(md::partition(md::id(1), i));
  add(md::topic("__consumer_offsets", md::id(2)));
  add(md::partition(md::id(2), 0));
  return std::move(delta).finish({Offset{1}, LeaderEpoch{0}, {}})->image;
}

ErrorCode code_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::invalid_producer_epoch:
      return ErrorCode::invalid_producer_epoch;
    case ErrorKind::out_of_order_sequence:
      return ErrorCode::out_of_order_sequence_number;
    case ErrorKind::coordinator_fenced:
      return ErrorCode::transaction_coordinator_fenced;
    default:
      return ErrorCode::invalid_txn_state;
  }
}

/// The request lives until it is answered.
template <class Request, class Response = typename Request::Response>
coordinator::Reply<Response> reply_to(std::shared_ptr<const Request> request, Answer<Response> answer) {
  return coordinator::Reply<Response>([request = std::move(request), answer = std::move(answer)](
                                          std::expected<Response, ErrorCode> response) {
    if (response) return answer(*response);
    Response refused;
    refused.error_code = to_wire(response.error());
    answer(refused);
  });
}

}  // namespace

SimulatedBroker::SimulatedBroker(World& world, int64_t die_after)
    : world_(world),
      die_after_(die_after),
      runner_([this] {
        coordinator::TransactionEnvironment environment{
            .config = config_,
            .settings = coordinator::TransactionSettings::of(config_),
            .image = image_of_topics(),
            .coordinator_epoch = coordinator_epoch_++,
            .effects = *this};
        environment.settings.abort_interval = milliseconds(1'000);
        return std::make_unique<coordinator::TransactionShard>(std::move(environment));
      }),
      begun_(runner_.now().wall) {
  for (int i = 0; i < data_partitions; ++i) partitions_.emplace(PartitionName{"t", i}, false);
  partitions_.emplace(PartitionName{"__consumer_offsets", 0}, true);
  runner_.durable_at_once(false);
}

void SimulatedBroker::later(int64_t delay_ms, std::function<void()> event) {
  world_.after(delay_ms, [this, of = incarnation_, event = std::move(event)] {
    if (of == incarnation_) event();
  });
}

coordinator::RequestContext SimulatedBroker::context(int16_t version) const {
  return {.version = version, .client_id = "client", .client_host = "/127.0.0.1", .now = runner_.now()};
}

void SimulatedBroker::init_producer_id(const protocol::InitProducerIdRequest& request,
                                       Answer<protocol::InitProducerIdResponse> answer) {
  const auto kept = std::make_shared<const protocol::InitProducerIdRequest>(request);
  runner_.carry_out(runner_.shard().init_producer_id(context(5), *kept, reply_to(kept, std::move(answer))));
}

void SimulatedBroker::add_partitions(
    const protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction& partitions,
    Answer<ErrorCode> answer) {
  using Result = protocol::AddPartitionsToTxnResponse::AddPartitionsToTxnResult;
  const auto kept =
      std::make_shared<protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction>(partitions);
  auto reply =
      coordinator::Reply<Result>([kept, answer = std::move(answer)](std::expected<Result, ErrorCode> result) {
        if (!result) return answer(result.error());
        answer(static_cast<ErrorCode>(
            result->topic_results.at(0).results_by_partition.at(0).partition_error_code));
      });
  runner_.carry_out(runner_.shard().add_partitions(context(3), *kept, std::move(reply)));
}

void SimulatedBroker::end_txn(const protocol::EndTxnRequest& request, int version,
                              Answer<protocol::EndTxnResponse> answer) {
  const auto kept = std::make_shared<const protocol::EndTxnRequest>(request);
  runner_.carry_out(
      runner_.shard().end_txn(context(version == 2 ? 5 : 4), *kept, reply_to(kept, std::move(answer))));
}

void SimulatedBroker::write(const PartitionName& name, const TransactionalWrite& write,
                            Answer<ErrorCode> answer) {
  SimulatedPartition& partition = partitions_.at(name);
  const auto guard = partition.begin_verification({.producer_id = write.producer,
                                                   .epoch = write.epoch,
                                                   .sequence = write.sequence,
                                                   .adds_partition = write.version == 2},
                                                  runner_.now().wall);
  if (!guard) return answer(code_of(guard.error()));
  if (*guard == storage::no_guard) return append_verified(name, write, {.must_be_verified = true}, answer);
  using Result = protocol::AddPartitionsToTxnResponse::AddPartitionsToTxnResult;
  const auto question =
      std::make_shared<protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction>();
  question->transactional_id = protocol::String(write.transactional_id);
  question->producer_id = write.producer.value();
  question->producer_epoch = write.epoch.value();
  question->verify_only = write.version == 1;
  auto& topic = question->topics.emplace_back();
  topic.name = protocol::String(name.first);
  topic.partitions.push_back(name.second);
  auto reply = coordinator::Reply<Result>([this, question, name, write, answer, guard = *guard,
                                           of = incarnation_](std::expected<Result, ErrorCode> result) {
    if (of != incarnation_) return;
    const ErrorCode error =
        result ? static_cast<ErrorCode>(
                     result->topic_results.at(0).results_by_partition.at(0).partition_error_code)
               : result.error();
    // The answer has its own way back, which may be long: much may have ended meanwhile.
    later(world_.below(world_.faults && world_.chance(10) ? 3'000 : 5),
          [this, name, write, answer, guard, error] {
            if (error == ErrorCode::none)
              return append_verified(name, write, {.must_be_verified = true, .guard = guard}, answer);
            const bool retriable = error == ErrorCode::concurrent_transactions;
            if (!retriable) partitions_.at(name).refuse_verification(write.producer, guard);
            answer(error == ErrorCode::producer_fenced ? ErrorCode::invalid_producer_epoch : error);
          });
  });
  runner_.carry_out(runner_.shard().add_partitions(context(5), *question, std::move(reply)));
}

void SimulatedBroker::append_verified(const PartitionName& name, const TransactionalWrite& write,
                                      const storage::TransactionCheck& check,
                                      const Answer<ErrorCode>& answer) {
  SimulatedPartition& partition = partitions_.at(name);
  const auto before = partition.end();
  const auto appended = partition.append(write.producer, write.epoch, write.sequence, *write.attempt, check,
                                         runner_.now().wall);
  if (partition.end() != before) ++appended_;
  if (!appended) return answer(code_of(appended.error()));
  partition.when_durable([answer] { answer(ErrorCode::none); });
}

void SimulatedBroker::next_producer_id(std::string, Resume resume, std::move_only_function<void(ErrorCode)>) {
  const auto kept = std::make_shared<Resume>(std::move(resume));
  later(1 + world_.below(5), [this, kept] {
    runner_.carry_out(
        (*kept)(runner_.shard(), ProducerId(++last_producer_id_), ErrorCode::none, runner_.now()));
  });
}

void SimulatedBroker::write_markers(coordinator::TransactionMarkers markers) {
  const auto kept = std::make_shared<coordinator::TransactionMarkers>(std::move(markers));
  const auto results = std::make_shared<std::vector<coordinator::MarkerResult>>();
  std::size_t count = 0;
  for (const auto& [topic, partitions] : kept->partitions) count += partitions.size();
  for (const auto& [topic, partitions] : kept->partitions)
    for (const int32_t index : partitions)
      later(world_.below(10), [this, kept, results, count, name = PartitionName{topic, index}] {
        const auto done = [this, kept, results, count, name](ErrorCode error) {
          results->push_back({name.first, name.second, error});
          if (results->size() == count)
            later(world_.below(5), [this, kept, results] { markers_are_durable(*kept, *results); });
        };
        if (world_.faults && world_.chance(3)) return done(ErrorCode::kafka_storage_error);
        SimulatedPartition& partition = partitions_.at(name);
        const auto appended = partition.append_marker(*kept, runner_.now().wall);
        if (!appended) return done(code_of(appended.error()));
        ++appended_;
        partition.when_durable([done] { done(ErrorCode::none); });
      });
}

void SimulatedBroker::markers_are_durable(const coordinator::TransactionMarkers& markers,
                                          const std::vector<coordinator::MarkerResult>& results) {
  runner_.carry_out(runner_.shard().markers_written(markers, results, runner_.now()));
}

void SimulatedBroker::settle() {
  const int64_t behind = world_.now_ms() - (runner_.now().wall - begun_);
  if (behind > 0) runner_.advance(milliseconds(behind));
  if (!coordinator_syncing_ && runner_.durable() < runner_.log().size()) {
    coordinator_syncing_ = true;
    later(world_.below(sync_ms_max), [this] {
      coordinator_syncing_ = false;
      runner_.make_durable();
    });
  }
  for (auto& [name, partition] : partitions_) {
    if (partition.is_durable() || syncing_[name]) continue;
    syncing_[name] = true;
    later(world_.below(sync_ms_max), [this, &name, &partition] {
      syncing_[name] = false;
      partition.sync();
    });
  }
  const bool now = die_after_ != 0 ? crashes_ == 0 && appended() >= die_after_ : world_.below(300) == 0;
  if (world_.faults && now) crash();
}

void SimulatedBroker::crash() {
  ++crashes_;
  ++incarnation_;
  coordinator_syncing_ = false;
  syncing_.clear();
  for (auto& [name, partition] : partitions_) {
    const auto undurable = static_cast<int64_t>(partition.log().size() - partition.durable());
    partition.crash(partition.durable() + static_cast<std::size_t>(world_.below(undurable + 1)));
  }
  const auto undurable = static_cast<int64_t>(runner_.log().size() - runner_.durable());
  runner_.crash(runner_.durable() + static_cast<std::size_t>(world_.below(undurable + 1)));
}

}  // namespace barnabas::sim
