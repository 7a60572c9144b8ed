#include "broker/handlers/fetch_read.h"

#include <algorithm>

#include "broker/error_map.h"
#include "network/file_records.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;

FetchRead failed_read(const FetchPartition& wanted, ErrorCode error) {
  FetchRead read;
  read.data.partition_index = wanted.index.value();
  read.data.error_code = static_cast<int16_t>(error);
  read.data.high_watermark = -1;
  read.data.aborted_transactions = std::nullopt;
  read.data.records = protocol::Records(protocol::Bytes());
  return read;
}

/// Why there is nothing of an id that no topic has.
ErrorCode error_of_unknown_id(const ReplicaManager& replicas, const FetchPartition& wanted) {
  if (wanted.was_named.empty()) return ErrorCode::unknown_topic_id;
  const bool is_there_again = replicas.find(wanted.was_named, wanted.index).partition != nullptr;
  return is_there_again ? ErrorCode::inconsistent_topic_id : ErrorCode::unknown_topic_or_partition;
}

/// The partition of an entry, from what it remembers or by a look-up.
ErrorCode locate(const ReplicaManager& replicas, FetchPartition& wanted, bool by_topic_id) {
  if (wanted.partition && wanted.partition->active()) return ErrorCode::none;
  if (by_topic_id) wanted.was_named = name_in_session(wanted);
  auto found =
      by_topic_id ? replicas.find(wanted.topic_id, wanted.index) : replicas.find(wanted.topic, wanted.index);
  wanted.partition = std::move(found.partition);
  if (found.error == ErrorCode::unknown_topic_id) return error_of_unknown_id(replicas, wanted);
  return found.error;
}

/// KIP-595: whether the reader's log and ours part below its fetch offset. Fills the diverging epoch.
ErrorCode check_divergence(Partition& partition, const FetchPartition& wanted, FetchRead& read) {
  if (wanted.last_fetched_epoch < LeaderEpoch{0}) return ErrorCode::none;
  const auto ours = partition.log().end_offset_for_epoch(wanted.last_fetched_epoch);
  if (ours.epoch == no_leader_epoch || ours.end_offset == no_offset) return ErrorCode::offset_out_of_range;
  if (ours.epoch < wanted.last_fetched_epoch || ours.end_offset < wanted.fetch_offset) {
    read.data.diverging_epoch.epoch = ours.epoch.value();
    read.data.diverging_epoch.end_offset = ours.end_offset.value();
    read.diverged = true;
  }
  return ErrorCode::none;
}

ErrorCode add_aborted_transactions(Partition& partition, Offset from, Offset upper_bound, FetchRead& read) {
  const auto aborted = partition.log().aborted_transactions(from, upper_bound);
  if (!aborted) return error_code_of(aborted.error().kind);
  auto& list = read.data.aborted_transactions.emplace();
  for (const storage::AbortedTransaction& transaction : *aborted) {
    auto& entry = list.emplace_back();
    entry.producer_id = transaction.producer_id.value();
    entry.first_offset = transaction.first_offset.value();
  }
  return ErrorCode::none;
}

ErrorCode read_records(Partition& partition, const FetchPartition& wanted, const FetchLimits& limits,
                       int64_t bytes_max, bool at_least_one_batch, FetchRead& read) {
  const Offset high_watermark = partition.high_watermark();
  const Offset stable = partition.log().last_stable_offset(high_watermark);
  read.seen_high_watermark = high_watermark;
  read.data.high_watermark = high_watermark.value();
  read.data.last_stable_offset = stable.value();
  read.data.log_start_offset = partition.log().log_start_offset().value();
  read.data.records = protocol::Records(protocol::Bytes());
  read.data.aborted_transactions = std::nullopt;
  if (read.diverged) return ErrorCode::none;
  const Offset upper_bound = limits.read_committed ? stable : high_watermark;
  auto result =
      partition.log().read(wanted.fetch_offset, static_cast<uint64_t>(std::max<int64_t>(bytes_max, 0)),
                           upper_bound, at_least_one_batch);
  if (!result) return error_code_of(result.error().kind);
  if (limits.read_committed) {
    const Offset end = result->slice.length > 0 ? result->next_offset : wanted.fetch_offset;
    if (const ErrorCode error = add_aborted_transactions(partition, wanted.fetch_offset, end, read);
        error != ErrorCode::none)
      return error;
  }
  read.bytes = result->slice.length;
  if (read.bytes > 0)
    read.data.records = protocol::Records(std::make_shared<network::FileRecords>(std::move(result->slice)));
  return ErrorCode::none;
}

}  // namespace

FetchRead failed_fetch(const FetchPartition& wanted, ErrorCode error) {
  FetchRead read = failed_read(wanted, error);
  read.data.aborted_transactions.emplace();
  return read;
}

const std::string& name_in_session(const FetchPartition& wanted) {
  return wanted.partition ? wanted.partition->name().topic : wanted.was_named;
}

FetchRead unknown_id_fetch(const ReplicaManager& replicas, FetchPartition& wanted) {
  wanted.was_named = name_in_session(wanted);
  wanted.partition.reset();
  return failed_fetch(wanted, error_of_unknown_id(replicas, wanted));
}

FetchRead read_partition(const ReplicaManager& replicas, FetchPartition& wanted, const FetchLimits& limits,
                         int64_t bytes_max, bool at_least_one_batch) {
  if (const ErrorCode error = locate(replicas, wanted, limits.by_topic_id); error != ErrorCode::none)
    return failed_fetch(wanted, error);
  Partition& partition = *wanted.partition;
  FetchRead read;
  read.data.partition_index = wanted.index.value();
  // Any negative epoch claims nothing here, as in Kafka.
  ErrorCode error = partition.check_leader_epoch(std::max(wanted.current_leader_epoch, no_leader_epoch));
  if (error == ErrorCode::none) error = check_divergence(partition, wanted, read);
  if (error == ErrorCode::none)
    error = read_records(partition, wanted, limits, std::min<int64_t>(bytes_max, wanted.max_bytes),
                         at_least_one_batch, read);
  if (error != ErrorCode::none) return failed_read(wanted, error);
  read.partition = wanted.partition;
  return read;
}

}  // namespace barnabas::broker
