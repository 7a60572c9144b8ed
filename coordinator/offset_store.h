#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/types.h"
#include "base/uuid.h"
#include "coordinator/partition_table.h"
#include "protocol/string.h"

namespace barnabas::coordinator {

/// How far a group is in a partition, as it told.
struct CommittedOffset {
  int64_t offset = -1;        ///< whatever the client sent
  protocol::String metadata;  ///< owned here; a view in what was just decoded
  TimestampMs committed_at{0};
  TimestampMs expires_at = no_timestamp;  ///< no_timestamp: offsets.retention.minutes decides
  Uuid topic_id;                          ///< zero: committed before Kafka kept ids
  Offset record_offset = no_offset;       ///< of the record that it comes from
  LeaderEpoch leader_epoch = no_leader_epoch;
};

/// Which record of __consumer_offsets.
struct OffsetKey {
  std::string_view group;
  std::string_view topic;
  int32_t partition = 0;
};

/// The committed offsets of a shard, and those of transactions that are not decided yet. It changes by
/// records alone.
class OffsetStore {
 public:
  using Table = PartitionTable<CommittedOffset>;

  /// `producer`: of a transaction; the offset then counts once it is committed.
  void put(const OffsetKey& key, const CommittedOffset& offset, ProducerId producer = no_producer_id);
  /// A tombstone: nothing of it stays, of open transactions neither.
  void remove(const OffsetKey& key);
  /// Nothing happens if the producer has no offsets here. Of two commits the one later in the log counts,
  /// even if its transaction ended first: compaction keeps that one, and a start must find the same.
  void end_transaction(ProducerId producer, bool committed);

  const CommittedOffset* find(const OffsetKey& key) const {
    return committed_.find(key.group, key.topic, key.partition);
  }
  /// Whether an open transaction has committed an offset for it.
  bool is_pending(const OffsetKey& key) const {
    return pending_.find(key.group, key.topic, key.partition) != nullptr;
  }

  const Table& committed() const { return committed_; }
  /// How many open transactions have an offset for each partition.
  const PartitionTable<uint32_t>& pending() const { return pending_; }
  /// The same, transaction by transaction.
  const std::unordered_map<ProducerId, Table>& transactions() const { return transactions_; }

 private:
  void no_longer_pending(const OffsetKey& key);

  Table committed_;
  PartitionTable<uint32_t> pending_;
  std::unordered_map<ProducerId, Table> transactions_;
};

}  // namespace barnabas::coordinator
