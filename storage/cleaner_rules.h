#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "protocol/records/batch_filter.h"
#include "protocol/records/record_batch.h"
#include "storage/log.h"
#include "storage/log_config.h"
#include "storage/producer_state.h"

namespace barnabas::storage {

// What compaction decides, without files, clock or threads; as Apache Kafka 4.4's log cleaner decides it.
//
// Within a cleaned part of the log the newest record of each key stays. Records without a value (tombstones)
// go once the delete horizon of their batch is over (KIP-534): it is written into the batch by the first
// cleaning that sees it, delete.retention.ms ahead, so that whoever began to read before still meets them.
// Records of aborted transactions go at once; transaction markers stay until no batch of their transaction is
// left, and then until their own horizon. Offsets never change.

// --- what to clean -----------------------------------------------------------------------------------------

struct CleanerSegment {
  Offset base_offset;
  uint64_t size_bytes = 0;
};

/// Where the part begins that was not cleaned: where the last cleaning ended, unless that lies outside of the
/// log, which was then cut since; the log start then.
Offset first_dirty_offset(std::optional<Offset> cleaned_to, Offset log_start, Offset log_end);

/// Start of the segment that must stay as it is, with all that follow: the one that `bound` (the last stable
/// offset, or the start of the first segment that is too young) falls into, at most the active one.
Offset first_uncleanable_offset(std::span<const CleanerSegment> segments, Offset first_dirty, Offset bound);

/// How much there is to clean in a log, and how urgent it is.
struct CleaningNeed {
  Offset first_dirty{0};
  Offset first_uncleanable{0};
  /// All transactions with records below first_uncleanable are decided, by markers below this: the high
  /// watermark.
  Offset decided_to{0};
  uint64_t clean_bytes = 0;      ///< of segments that begin below first_dirty
  uint64_t cleanable_bytes = 0;  ///< of segments with something in [first_dirty, first_uncleanable)
  bool overdue = false;          ///< a dirty segment has waited for longer than max.compaction.lag.ms

  double ratio() const {
    return cleanable_bytes == 0
               ? 0
               : static_cast<double>(cleanable_bytes) / static_cast<double>(clean_bytes + cleanable_bytes);
  }
  /// Overdue, or dirtier than min.cleanable.dirty.ratio.
  bool worth_it(const LogConfig& config) const {
    return cleanable_bytes > 0 && (overdue || ratio() > config.min_cleanable_dirty_ratio);
  }
};
CleaningNeed cleaning_need(std::span<const CleanerSegment> segments, Offset first_dirty,
                           Offset first_uncleanable);

/// Segments that become one: neighbours that together are not larger than segment.bytes, with indexes not
/// larger than segment.index.bytes, and whose offsets fit relative to the first. Returns the size of each
/// group, in order.
struct GroupingSegment {
  Offset base_offset;
  uint64_t size_bytes = 0;
  uint64_t offset_index_bytes = 0;
  uint64_t time_index_bytes = 0;
};
std::vector<std::size_t> group_segments(std::span<const GroupingSegment> segments, Offset end,
                                        const LogConfig& config);

// --- transactions ------------------------------------------------------------------------------------------

/// Follows the transactions of a log while its batches pass by, from the log start on.
class CleanedTransactions {
 public:
  /// From the transaction indexes; the same one may come several times.
  void add(const AbortedTransaction& transaction);

  /// A data batch. Whether it belongs to an aborted transaction.
  bool read_data(const protocol::RecordBatchHeader& batch);
  /// A control batch. Whether it may go: it is empty, or ends a transaction of which no batch was read. One
  /// that ends an aborted transaction with batches stays, and its entry goes into `still_aborted`: the
  /// transaction index of the new segment.
  bool read_control(const protocol::RecordBatchHeader& batch,
                    const std::optional<EndTransactionMarker>& marker,
                    std::vector<AbortedTransaction>& still_aborted);

 private:
  struct Producer {
    std::vector<AbortedTransaction> aborted;  ///< by last offset, from `next` on
    std::size_t next = 0;
    bool read_aborted_data = false;  ///< of aborted[next]
  };
  AbortedTransaction* current(ProducerId id, Offset offset);

  std::unordered_map<ProducerId, Producer> producers_;
  std::unordered_set<ProducerId> with_live_data_;  ///< since their last marker
};

// --- batches and records -----------------------------------------------------------------------------------

/// The newest thing that the log knows of each producer.
struct LastRecord {
  Offset data_offset = no_offset;  ///< -1: only a marker
  ProducerEpoch epoch;
};
using LastRecords = std::unordered_map<ProducerId, LastRecord>;
LastRecords last_records(std::span<const ProducerStateEntry> producers);

/// What is true for all of one pass.
struct CleaningRound {
  TimestampMs now;
  int64_t delete_retention_ms = 0;
  Offset mapped_to{0};  ///< the key map knows all records below
  Offset end{0};        ///< first_uncleanable: the last batch below stays, so that its last offset is known
};

struct BatchVerdict {
  bool drops_all_records = false;
  /// Without records it stays all the same: with the last sequence of its producer, or the last offset.
  bool stays_when_empty = false;
  /// A marker whose transaction has no batches any more: its days are counted from now on.
  bool gets_horizon = false;
};
/// `discardable` is what CleanedTransactions said.
BatchVerdict judge_batch(const protocol::RecordBatchHeader& batch, bool discardable,
                         const LastRecords& last_records, const CleaningRound& round);

/// Whether a record of a batch that does not drop all of them stays; `newest` is what the map has for its
/// key.
bool record_stays(const protocol::RecordFacts& record, std::optional<Offset> newest,
                  const protocol::RecordBatchHeader& batch, const CleaningRound& round);

/// now + delete.retention.ms, or the end of time.
TimestampMs new_delete_horizon(const CleaningRound& round);

}  // namespace barnabas::storage
