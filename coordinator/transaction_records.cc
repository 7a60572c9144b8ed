#include "coordinator/transaction_records.h"

#include "protocol/messages/transaction_log_key.h"
#include "protocol/messages/transaction_log_value.h"

namespace barnabas::coordinator {
namespace {

protocol::TransactionLogKey key_of(std::string_view transactional_id) {
  protocol::TransactionLogKey key;
  key.transactional_id = protocol::String::view_of(transactional_id);
  return key;
}

Result<Transaction> transaction_of(const protocol::TransactionLogValue& value) {
  // A fence is never written, and would leave the id stuck.
  if (value.transaction_status < 0 || value.transaction_status > static_cast<int8_t>(TransactionState::dead))
    return fail(ErrorKind::corrupt, "TransactionLogValue: no transaction has the status " +
                                        std::to_string(value.transaction_status));
  if (value.producer_id < 0 || value.producer_epoch < 0)
    return fail(ErrorKind::corrupt, "TransactionLogValue: negative producer id or epoch");
  Transaction transaction;
  transaction.producer_id = ProducerId(value.producer_id);
  transaction.previous_producer_id = ProducerId(value.previous_producer_id);
  transaction.next_producer_id = ProducerId(value.next_producer_id);
  transaction.producer_epoch = ProducerEpoch(value.producer_epoch);
  transaction.timeout_ms = value.transaction_timeout_ms;
  transaction.state = static_cast<TransactionState>(value.transaction_status);
  transaction.client_version = value.client_transaction_version;
  transaction.started_at = TimestampMs(value.transaction_start_timestamp_ms);
  transaction.updated_at = TimestampMs(value.transaction_last_update_timestamp_ms);
  if (value.transaction_partitions && transaction.state != TransactionState::empty)
    for (const auto& topic : *value.transaction_partitions)
      for (const int32_t partition : topic.partition_ids)
        insert(transaction.partitions, topic.topic.str(), partition);
  return transaction;
}

}  // namespace

Record transaction_record(std::string_view transactional_id, const Transaction& transaction,
                          int16_t transaction_version) {
  const int16_t version = transaction_version >= 1 ? 1 : 0;
  protocol::TransactionLogValue value;
  value.producer_id = transaction.producer_id.value();
  if (version >= 1) {
    value.previous_producer_id = transaction.previous_producer_id.value();
    value.next_producer_id = transaction.next_producer_id.value();
    value.client_transaction_version = transaction.client_version;
  }
  value.producer_epoch = transaction.producer_epoch.value();
  value.transaction_timeout_ms = transaction.timeout_ms;
  value.transaction_status = static_cast<int8_t>(transaction.state);
  value.transaction_last_update_timestamp_ms = transaction.updated_at.value();
  value.transaction_start_timestamp_ms = transaction.started_at.value();
  if (transaction.state == TransactionState::empty) {
    value.transaction_partitions.reset();
  } else {
    value.transaction_partitions->reserve(transaction.partitions.size());
    for (const auto& [topic, partitions] : transaction.partitions) {
      auto& written = value.transaction_partitions->emplace_back();
      written.topic = protocol::String::view_of(topic);
      written.partition_ids = partitions;
    }
  }
  return record_of(key_of(transactional_id), value, version);
}

Record transaction_tombstone(std::string_view transactional_id) {
  return tombstone_of(key_of(transactional_id));
}

std::size_t size_in_batch(const Record& record) {
  constexpr std::size_t overhead = 64;
  return record.key.size() + (record.value ? record.value->size() : 0) + overhead;
}

Result<std::optional<LoggedTransaction>> decode_transaction_record(const ReplayedRecord& record) {
  protocol::Reader reader(record.key);
  BARNABAS_ASSIGN(const int16_t type, protocol::decode_coordinator_key_type(reader));
  if (type != protocol::TransactionLogKey::record_type) return std::nullopt;
  BARNABAS_ASSIGN(const auto key, protocol::TransactionLogKey::decode(reader, 0));
  LoggedTransaction logged{.transactional_id = key.transactional_id.str(), .transaction = {}};
  if (record.value) {
    BARNABAS_ASSIGN(const auto value,
                    protocol::decode_coordinator_value<protocol::TransactionLogValue>(*record.value));
    BARNABAS_ASSIGN(auto transaction, transaction_of(value));
    if (transaction.state != TransactionState::dead) logged.transaction = std::move(transaction);
  }
  return logged;
}

}  // namespace barnabas::coordinator
