#include "broker/handlers/produce_transaction.h"

#include <optional>
#include <utility>

#include "broker/error_map.h"
#include "protocol/records/record_batch.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::ProduceRequest;
using protocol::RecordBatchHeader;

constexpr int16_t first_version_with_abortable = 11;
constexpr int16_t first_version_that_adds = 12;

/// The header of a transactional batch of a producer; others have nothing to do with transactions.
std::optional<RecordBatchHeader> transactional_batch(const ProduceRequest::PartitionProduceData& data) {
  if (data.records.is_null()) return std::nullopt;
  const auto header = RecordBatchHeader::parse(data.records.bytes());
  if (!header || !header->is_transactional()) return std::nullopt;
  return *header;
}

/// The coordinator's word, as producers know it.
ErrorCode told_to_producers(ErrorCode error, int16_t version) {
  if (error == ErrorCode::transaction_abortable && version < first_version_with_abortable)
    return ErrorCode::invalid_txn_state;
  return told_to_writers(error, version < first_version_that_adds);
}

std::string message_of(ErrorCode told, ErrorCode error) {
  if (told == ErrorCode::invalid_txn_state) return "The partition is not a part of the transaction";
  if (told == ErrorCode::not_enough_replicas)
    return "It is not known whether the partition is a part of the transaction: " +
           std::string(protocol::name(error));
  return {};
}

}  // namespace

ProduceTransaction::ProduceTransaction(const ProduceRequest& request, const Rules& rules, const Find& find,
                                       TimestampMs now, const MayUse& may_use)
    : rules_(rules) {
  if (!find_producer(request)) return;
  if (!request.transactional_id || (may_use && !may_use(*request.transactional_id))) {
    refused_ = ErrorCode::transactional_id_authorization_failed;
    return;
  }
  if (refused_ != ErrorCode::none || producer_id_ == no_producer_id) return;
  transactional_id_ = request.transactional_id->str();
  if (!rules_.verify && !adds_partitions()) return;
  std::size_t nth = 0;
  for (const auto& topic : request.topic_data)
    for (const auto& data : topic.partition_data) {
      verdicts_.emplace_back().check.must_be_verified = true;
      const auto batch = transactional_batch(data);
      // A partition that is not here is refused by whoever appends.
      auto partition = batch && batch->has_producer_id() ? find(topic, PartitionIndex{data.index}) : nullptr;
      if (partition) begin(std::move(partition), batch->base_sequence, nth, now);
      ++nth;
    }
}

bool ProduceTransaction::adds_partitions() const {
  return rules_.version >= first_version_that_adds;
}

// Whether there is any transactional batch; and who produces them.
bool ProduceTransaction::find_producer(const ProduceRequest& request) {
  bool found = false;
  for (const auto& topic : request.topic_data)
    for (const auto& data : topic.partition_data) {
      const auto batch = transactional_batch(data);
      if (!batch) continue;
      found = true;
      if (!batch->has_producer_id()) continue;
      const bool is_first = producer_id_ == no_producer_id;
      if (!is_first && (batch->producer_id != producer_id_ || batch->producer_epoch != epoch_))
        refused_ = ErrorCode::invalid_producer_id_mapping;
      producer_id_ = batch->producer_id;
      epoch_ = batch->producer_epoch;
    }
  return found;
}

void ProduceTransaction::begin(std::shared_ptr<Partition> partition, int32_t sequence, std::size_t nth,
                               TimestampMs now) {
  const auto guard = partition->begin_verification({.producer_id = producer_id_,
                                                    .epoch = epoch_,
                                                    .sequence = sequence,
                                                    .adds_partition = adds_partitions()},
                                                   now);
  if (!guard) {
    verdicts_[nth].error = error_code_of(guard.error().kind);
    return;
  }
  if (*guard == storage::no_guard) return;
  verdicts_[nth].check.guard = *guard;
  storage::TopicPartition name = partition->name();
  Asked& asked = asked_[std::move(name)];
  asked.partition = std::move(partition);
  asked.guard = *guard;
  asked.verdicts.push_back(nth);
}

TransactionVerifier::Transaction ProduceTransaction::question() const {
  TransactionVerifier::Transaction question;
  question.transactional_id = protocol::String(transactional_id_);
  question.producer_id = producer_id_.value();
  question.producer_epoch = epoch_.value();
  question.verify_only = !adds_partitions();
  for (const auto& [name, asked] : asked_) {
    if (question.topics.empty() || question.topics.back().name != name.topic)
      question.topics.emplace_back().name = protocol::String(name.topic);
    question.topics.back().partitions.push_back(name.partition.value());
  }
  return question;
}

void ProduceTransaction::answered(const TransactionVerifier::Verified& answer) {
  for (const auto& topic : answer.topic_results)
    for (const auto& result : topic.results_by_partition) {
      const auto asked = asked_.find({topic.name.str(), PartitionIndex{result.partition_index}});
      if (asked == asked_.end()) continue;
      const auto error = protocol::error_code(result.partition_error_code);
      answered_one(asked->second, error.value_or(ErrorCode::unknown_server_error));
      asked_.erase(asked);
    }
  for (auto& [name, asked] : asked_) answered_one(asked, ErrorCode::coordinator_not_available);
  asked_.clear();
}

void ProduceTransaction::answered_one(Asked& asked, ErrorCode error) {
  if (error == ErrorCode::none) return;
  const ErrorCode told = told_to_producers(error, rules_.version);
  for (const std::size_t nth : asked.verdicts) {
    verdicts_[nth].error = told;
    verdicts_[nth].message = message_of(told, error);
  }
  // One who tries again begins with the lowest sequence that was asked for; one who may not is forgotten.
  if (!protocol::is_retriable(told)) asked.partition->refuse_verification(producer_id_, asked.guard);
}

}  // namespace barnabas::broker
