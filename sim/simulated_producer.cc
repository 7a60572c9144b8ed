#include "sim/simulated_producer.h"

#include <algorithm>
#include <utility>

namespace barnabas::sim {
namespace {

constexpr int64_t answer_timeout_ms = 400;
constexpr int32_t transaction_timeout_ms = 5'000;
const PartitionName offsets_partition{"__consumer_offsets", 0};

}  // namespace

SimulatedProducer::SimulatedProducer(World& world, SimulatedBroker& broker, History& history,
                                     std::string transactional_id, int64_t instance, int version,
                                     int transactions)
    : world_(world),
      broker_(broker),
      history_(history),
      transactional_id_(std::move(transactional_id)),
      instance_(instance),
      version_(version),
      left_(transactions) {}

void SimulatedProducer::start() {
  initialize(/*goes_on=*/false);
}

bool SimulatedProducer::is_retriable(ErrorCode error) {
  return error == ErrorCode::concurrent_transactions || error == ErrorCode::coordinator_load_in_progress ||
         error == ErrorCode::coordinator_not_available || error == ErrorCode::not_coordinator;
}

template <class Response>
void SimulatedProducer::ask(std::function<void(SimulatedBroker&, Answer<Response>)> send,
                            Answer<Response> then) {
  const int64_t number = ++request_;
  deliver<Response>(send, then, number);
  // With version 1 a repeated message could end the next transaction: connections keep order, and there it is
  // relied upon. Version 2 needs no such thing.
  if (world_.faults && version_ == 2 && world_.chance(6)) deliver<Response>(send, then, number);
  world_.after(answer_timeout_ms, [self = shared_from_this(), send, then, number] {
    if (!self->over_ && self->request_ == number) self->template ask<Response>(send, then);
  });
}

template <class Response>
void SimulatedProducer::deliver(const std::function<void(SimulatedBroker&, Answer<Response>)>& send,
                                const Answer<Response>& then, int64_t number) {
  if (world_.faults && world_.chance(4)) return;  // lost
  const bool late = world_.faults && version_ == 2 && world_.chance(5);
  world_.after(1 + world_.below(late ? 1'500 : 6), [self = shared_from_this(), send, then, number] {
    if (self->version_ == 1 && self->request_ != number) return;  // its connection is closed
    send(self->broker_, [self, then, number](const Response& response) {
      if (self->world_.faults && self->world_.chance(4)) return;  // lost
      self->world_.after(1 + self->world_.below(6), [self, then, number, response] {
        if (self->over_ || self->request_ != number) return;
        ++self->request_;
        then(response);
      });
    });
  });
}

void SimulatedProducer::initialize(bool goes_on) {
  protocol::InitProducerIdRequest request;
  request.transactional_id = protocol::String(transactional_id_);
  request.transaction_timeout_ms = transaction_timeout_ms;
  if (goes_on) {
    request.producer_id = id_.value();
    request.producer_epoch = epoch_.value();
  }
  ask<protocol::InitProducerIdResponse>(
      [request](SimulatedBroker& broker, auto answer) {
        broker.init_producer_id(request, std::move(answer));
      },
      [self = shared_from_this(), goes_on](const auto& response) { self->initialized(response, goes_on); });
}

void SimulatedProducer::initialized(const protocol::InitProducerIdResponse& response, bool goes_on) {
  const auto error = static_cast<ErrorCode>(response.error_code);
  if (is_retriable(error)) return again([self = shared_from_this(), goes_on] { self->initialize(goes_on); });
  if (error != ErrorCode::none) return stop();
  id_ = ProducerId(response.producer_id);
  epoch_ = ProducerEpoch(response.producer_epoch);
  sequences_.clear();
  must_initialize_ = false;
  // Whoever had the id before is over now, if it was not over already because of one still newer.
  int64_t& live = history_.first_live_instance[transactional_id_];
  live = std::max(live, instance_);
  begin();
}

void SimulatedProducer::begin() {
  if (left_-- == 0) return stop();
  attempt_ = &history_.attempts.emplace_back();
  attempt_->transactional_id = transactional_id_;
  attempt_->number = ++history_.last_number[transactional_id_];
  attempt_->instance = instance_;
  writes_.clear();
  next_write_ = 0;
  const int64_t batches = world_.below(5);
  auto sequences = sequences_;
  for (int64_t i = 0; i < batches; ++i) {
    const PartitionName name{"t", static_cast<int32_t>(world_.below(3))};
    writes_.push_back({name, sequences[name]++});
  }
  if (world_.chance(70)) writes_.push_back({offsets_partition, 0});
  to_add_.clear();
  if (version_ == 1) {
    for (const Write& write : writes_)
      if (std::ranges::find(to_add_, write.partition) == to_add_.end()) to_add_.push_back(write.partition);
  }
  add_next_partition();
}

void SimulatedProducer::add_next_partition() {
  if (to_add_.empty()) return write_next();
  protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction partitions;
  partitions.transactional_id = protocol::String(transactional_id_);
  partitions.producer_id = id_.value();
  partitions.producer_epoch = epoch_.value();
  auto& topic = partitions.topics.emplace_back();
  topic.name = protocol::String(to_add_.back().first);
  topic.partitions.push_back(to_add_.back().second);
  ask<ErrorCode>([partitions](SimulatedBroker& broker,
                              auto answer) { broker.add_partitions(partitions, std::move(answer)); },
                 [self = shared_from_this()](const ErrorCode& error) {
                   if (is_retriable(error)) return self->again([self] { self->add_next_partition(); });
                   if (error != ErrorCode::none) return self->stop();
                   self->to_add_.pop_back();
                   self->add_next_partition();
                 });
}

void SimulatedProducer::write_next() {
  // Some think about it for longer than the coordinator waits.
  if (world_.faults && world_.chance(1))
    return world_.after(transaction_timeout_ms * 2, [self = shared_from_this()] { self->end(true); });
  if (next_write_ == writes_.size()) return end(world_.chance(75));
  const Write write = writes_[next_write_];
  const TransactionalWrite sent{.transactional_id = transactional_id_,
                                .producer = id_,
                                .epoch = epoch_,
                                .sequence = write.sequence,
                                .version = version_,
                                .attempt = attempt_};
  ask<ErrorCode>([sent, name = write.partition](SimulatedBroker& broker,
                                                auto answer) { broker.write(name, sent, std::move(answer)); },
                 [self = shared_from_this(), write](const ErrorCode& error) { self->written(write, error); });
}

void SimulatedProducer::written(const Write& write, ErrorCode error) {
  if (is_retriable(error)) return again([self = shared_from_this()] { self->write_next(); });
  if (error == ErrorCode::invalid_producer_epoch || error == ErrorCode::invalid_producer_id_mapping)
    return stop();
  if (error != ErrorCode::none) {
    must_initialize_ = true;
    return end(false);
  }
  if (write.partition != offsets_partition) sequences_[write.partition] = write.sequence + 1;
  attempt_->acknowledged[write.partition].insert(write.sequence);
  ++next_write_;
  write_next();
}

void SimulatedProducer::end(bool commit) {
  // As clients do: what was never begun needs no end.
  if (writes_.empty()) return begin();
  protocol::EndTxnRequest request;
  request.transactional_id = protocol::String(transactional_id_);
  request.producer_id = id_.value();
  request.producer_epoch = epoch_.value();
  request.committed = commit;
  if (commit) attempt_->asked_to_commit = true;
  ask<protocol::EndTxnResponse>(
      [request, version = version_](SimulatedBroker& broker, auto answer) {
        broker.end_txn(request, version, std::move(answer));
      },
      [self = shared_from_this(), commit](const auto& response) { self->ended(response, commit); });
}

void SimulatedProducer::ended(const protocol::EndTxnResponse& response, bool commit) {
  const auto error = static_cast<ErrorCode>(response.error_code);
  if (is_retriable(error)) return again([self = shared_from_this(), commit] { self->end(commit); });
  if (error != ErrorCode::none) return stop();
  attempt_->told = commit ? Attempt::Outcome::committed : Attempt::Outcome::aborted;
  if (commit) ++history_.acknowledged_commits;
  if (version_ == 2) {
    id_ = ProducerId(response.producer_id);
    epoch_ = ProducerEpoch(response.producer_epoch);
    sequences_.clear();
    must_initialize_ = false;
  }
  if (must_initialize_) return initialize(/*goes_on=*/true);
  begin();
}

}  // namespace barnabas::sim
