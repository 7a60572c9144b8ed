#include "coordinator/transaction_request.h"

/// AddPartitionsToTxn, also in its form between brokers (KIP-890), and AddOffsetsToTxn.
namespace barnabas::coordinator {

using protocol::ErrorCode;
using Progress = TransactionRequest::Progress;

namespace {

constexpr std::size_t topic_name_size_max = 249;
constexpr const char* offsets_topic = "__consumer_offsets";

}  // namespace

ErrorCode PartitionsRequest::check(const Transaction& transaction) const {
  if (transaction.producer_id != producer_id_) return ErrorCode::invalid_producer_id_mapping;
  if (transaction.producer_epoch != producer_epoch_) return ErrorCode::producer_fenced;
  return ErrorCode::none;
}

Progress PartitionsRequest::add(TransactionTurn& turn, const TransactionPartitions& partitions,
                                int16_t client_version) {
  if (transactional_id().empty()) return refuse(turn, ErrorCode::invalid_request);
  if (!turn.transaction()) return refuse(turn, ErrorCode::invalid_producer_id_mapping);
  const Transaction& current = *turn.transaction();
  if (current.is_decided()) return Progress::waits;
  if (const ErrorCode error = check(current); error != ErrorCode::none) return refuse(turn, error);
  // The log could not keep what came of it: its values know nothing of versions yet.
  if (client_version > 0 && turn.server_version() == 0) return refuse(turn, ErrorCode::unsupported_version);
  Transaction next = with_partitions(current, partitions, client_version, turn.now().wall);
  if (current.state != TransactionState::ongoing || next.partitions != current.partitions)
    turn.write(std::move(next));
  turn.answer(accepted());
  return Progress::done;
}

// --- AddPartitionsToTxn ----------------------------------------------------------------------------

AddPartitions::AddPartitions(int16_t version, const Asked& asked, Reply<Told> reply)
    : PartitionsRequest(asked.transactional_id, version, ProducerId(asked.producer_id),
                        ProducerEpoch(asked.producer_epoch)),
      only_verifies_(asked.verify_only),
      reply_(std::move(reply)) {
  result_.transactional_id = asked.transactional_id.owned();
  result_.topic_results.reserve(asked.topics.size());
  for (const auto& topic : asked.topics) {
    auto& told = result_.topic_results.emplace_back();
    told.name = topic.name.owned();
    told.results_by_partition.reserve(topic.partitions.size());
    for (const int32_t partition : topic.partitions)
      told.results_by_partition.emplace_back().partition_index = partition;
  }
}

Progress AddPartitions::attempt(TransactionTurn& turn) {
  if (only_verifies_) return verify(turn);
  TransactionPartitions partitions;
  for (const auto& topic : result_.topic_results) {
    // No topic has such a name, and the log could not hold it.
    if (topic.name.empty() || topic.name.size() > topic_name_size_max)
      return refuse(turn, ErrorCode::unknown_topic_or_partition);
    for (const auto& partition : topic.results_by_partition)
      insert(partitions, topic.name.str(), partition.partition_index);
  }
  // Only brokers that lead partitions, on behalf of clients of version 2, send these versions.
  return add(turn, partitions, version() >= 4 ? first_version_with_epoch_bump : int16_t{0});
}

Progress AddPartitions::verify(TransactionTurn& turn) {
  if (transactional_id().empty()) return refuse(turn, ErrorCode::invalid_request);
  if (!turn.transaction()) return refuse(turn, ErrorCode::invalid_producer_id_mapping);
  const Transaction& current = *turn.transaction();
  if (const ErrorCode error = check(current); error != ErrorCode::none) return refuse(turn, error);
  if (current.is_decided()) return Progress::waits;
  for (auto& topic : result_.topic_results) {
    const std::string name = topic.name.str();
    for (auto& partition : topic.results_by_partition)
      partition.partition_error_code = static_cast<int16_t>(
          contains(current.partitions, name, partition.partition_index) ? ErrorCode::none
                                                                        : ErrorCode::transaction_abortable);
  }
  turn.answer(reply_.with(std::move(result_)));
  return Progress::done;
}

ReadyReply AddPartitions::told(ErrorCode of_each) {
  for (auto& topic : result_.topic_results)
    for (auto& partition : topic.results_by_partition)
      partition.partition_error_code = static_cast<int16_t>(of_each);
  return reply_.with(std::move(result_));
}

ReadyReply AddPartitions::refused(ErrorCode error) {
  return told(fenced_for(version(), 2, error));
}

// --- AddOffsetsToTxn -------------------------------------------------------------------------------

Progress AddOffsets::attempt(TransactionTurn& turn) {
  return add(turn, {{offsets_topic, {offsets_partition_}}}, 0);
}

ReadyReply AddOffsets::refused(ErrorCode error) {
  return reply_.with(fenced_for(version(), 2, error));
}

}  // namespace barnabas::coordinator
