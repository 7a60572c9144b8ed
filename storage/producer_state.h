#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/result.h"
#include "base/types.h"
#include "protocol/records/record_batch.h"
#include "storage/transaction_verification.h"

namespace barnabas::storage {

/// Who appends. Checks differ as in Kafka: producers are checked for epoch and sequence, the broker's own
/// coordinators for the epoch only, replicated and recovered batches are taken as they are.
enum class AppendOrigin : uint8_t { client, coordinator, raft_leader, replication };

/// One appended batch of a producer, as far as duplicates of it must be known.
struct ProducerBatch {
  int32_t last_sequence = no_sequence;
  int32_t offset_delta = 0;  ///< last offset minus base offset
  Offset last_offset = no_offset;
  TimestampMs timestamp = no_timestamp;

  int32_t first_sequence() const;
  Offset base_offset() const { return last_offset - offset_delta; }
  bool operator==(const ProducerBatch&) const = default;
};

/// What a partition knows of one producer id: its epoch, its newest batches, its open transaction.
struct ProducerStateEntry {
  static constexpr int batches_max = 5;

  ProducerId producer_id = no_producer_id;
  ProducerEpoch epoch = no_producer_epoch;
  uint8_t batch_count = 0;
  /// False for an entry that came from a snapshot file, which holds the newest batch only, and got less than
  /// five since.
  bool history_complete = true;
  int32_t coordinator_epoch = -1;
  TimestampMs last_timestamp = no_timestamp;
  Offset current_txn_first_offset = no_offset;     ///< -1: no open transaction
  std::array<ProducerBatch, batches_max> batches;  ///< oldest first

  std::span<const ProducerBatch> known_batches() const { return {batches.data(), batch_count}; }
  bool empty() const { return batch_count == 0; }
  bool in_transaction(ProducerEpoch of) const { return current_txn_first_offset != no_offset && epoch == of; }
  int32_t last_sequence() const { return empty() ? no_sequence : batches[batch_count - 1u].last_sequence; }
  Offset last_offset() const { return empty() ? no_offset : batches[batch_count - 1u].last_offset; }
  void add_batch(ProducerEpoch epoch, const ProducerBatch& batch);

  bool operator==(const ProducerStateEntry&) const = default;
};

/// A transaction of one producer in one partition that has got its marker.
struct CompletedTransaction {
  ProducerId producer_id;
  Offset first_offset;
  Offset last_offset;  ///< of the marker
  bool aborted = false;

  bool operator==(const CompletedTransaction&) const = default;
};

/// The content of a control batch that ends a transaction (control record types 0 abort and 1 commit).
struct EndTransactionMarker {
  bool abort = false;
  int32_t coordinator_epoch = -1;
  TimestampMs timestamp;
};

/// Producer ids, sequences and transactions of one partition (KIP-98). Pure: no clock, thread or file; a log
/// calls it with its append lock held.
///
/// Rules of sequence for AppendOrigin::client, as in Kafka 4.4 (s = base sequence of the batch):
///   no entry, or the entry has no epoch  any s is taken (what was known may have expired or been deleted)
///   epoch older than the entry's         invalid_producer_epoch
///   one of the last five batches         duplicate: nothing changes, its old offsets are returned
///   epoch newer                          s must be 0, else out_of_order_sequence
///   same epoch, nothing appended yet in it  s must be 0, else out_of_order_sequence
///   same epoch                           s must follow the last sequence (0 follows 2^31 - 1), else
///   out_of_order_sequence
/// and before these, while the transaction's coordinator is asked, or was asked in vain (KIP-890):
///   an earlier batch was asked for       s must not be above the lowest one, else out_of_order_sequence
///   version 2, no batch known            s must be 0, else out_of_order_sequence
class ProducerState {
 public:
  /// The batch that a repeated one repeats; nullopt when it is new.
  std::optional<ProducerBatch> find_duplicate(const protocol::RecordBatchHeader& batch) const;

  /// Before the first batch of a transaction is appended: no_guard if a transaction of the producer is open
  /// here in this epoch, and nobody has to be asked. Otherwise the guard to append with once the coordinator
  /// has agreed: `fresh`, which was never given before, or that of a question that is asked already.
  /// invalid_producer_epoch.
  Result<VerificationGuard> begin_verification(const TransactionBegin& batch, VerificationGuard fresh,
                                               TimestampMs now);
  /// See TransactionVerifications::refuse.
  void refuse_verification(ProducerId id, VerificationGuard guard) { verifications_.refuse(id, guard); }

  /// Whether a data batch may be appended. invalid_producer_epoch, out_of_order_sequence, or
  /// invalid_transaction_state: outside of the producer's open transaction, or within one that is not open
  /// and not verified.
  Result<void> check(const protocol::RecordBatchHeader& batch, AppendOrigin origin,
                     const TransactionCheck& transaction = {}) const;
  /// Whether a marker may be appended: invalid_producer_epoch, or coordinator_fenced. A marker of transaction
  /// version 2 in the epoch of the transaction itself is refused, unless that has ended: then it is a repeat.
  Result<void> check_marker(const protocol::RecordBatchHeader& batch, const EndTransactionMarker& marker,
                            AppendOrigin origin, int16_t marker_version = 0) const;

  /// Takes over a data batch that was appended with these final offsets. Nothing is checked.
  void append(const protocol::RecordBatchHeader& batch);
  /// Takes over a marker. Returns the transaction it ended; nullopt if the producer had none open here.
  std::optional<CompletedTransaction> append_marker(const protocol::RecordBatchHeader& batch,
                                                    const EndTransactionMarker& marker);

  /// The transaction that append_marker will return.
  std::optional<CompletedTransaction> ended_by(const protocol::RecordBatchHeader& batch,
                                               const EndTransactionMarker& marker) const;
  /// First offset that is undecided once `completed` is decided: the value that the aborted-transaction index
  /// wants.
  Offset stable_offset_after(const CompletedTransaction& completed) const;

  /// First offset of the oldest transaction that is open, or whose marker is not below `high_watermark`;
  /// nullopt when there is none. Transactions with a marker below it are forgotten: the high watermark never
  /// falls within an epoch.
  std::optional<Offset> first_unstable_offset(Offset high_watermark);
  /// The same without forgetting anything: where the oldest undecided transaction begins, and where its
  /// marker is; no_offset while it is open.
  struct Undecided {
    Offset first_offset = no_offset;
    Offset marker = no_offset;
  };
  std::optional<Undecided> oldest_undecided() const;
  bool has_unstable() const { return !open_transactions_.empty() || !unreplicated_.empty(); }

  /// Forgets producers whose last batch is older, unless a transaction of theirs is open, and questions that
  /// are older. Returns how many producers.
  std::size_t expire(TimestampMs now, int64_t expiration_ms);

  /// Records below are gone. Producers stay known until they expire (KIP-360).
  void log_start_moved(Offset log_start);

  void clear();
  /// From a snapshot file or for replacing history that was read again.
  void load(const ProducerStateEntry& entry);

  const ProducerStateEntry* find(ProducerId id) const;
  ProducerStateEntry* find(ProducerId id);
  std::vector<ProducerStateEntry> entries() const;  ///< sorted by producer id
  std::size_t size() const { return producers_.size(); }
  const TransactionVerifications& verifications() const { return verifications_; }
  /// From a state that this one replaces.
  void keep_verifications_of(ProducerState& other) { verifications_ = std::move(other.verifications_); }

 private:
  ProducerStateEntry& entry_of(ProducerId id);
  Result<void> check_transaction(const protocol::RecordBatchHeader& batch, const ProducerStateEntry* entry,
                                 const TransactionCheck& transaction) const;
  Result<void> check_sequence(const protocol::RecordBatchHeader& batch,
                              const ProducerStateEntry* entry) const;

  /// Entries apart from the table: most partitions have few producers, and an empty place costs little then.
  boost::unordered_flat_map<int64_t, std::unique_ptr<ProducerStateEntry>> producers_;
  /// By first offset.
  std::map<int64_t, ProducerId> open_transactions_;
  std::map<int64_t, CompletedTransaction> unreplicated_;
  TransactionVerifications verifications_;
};

}  // namespace barnabas::storage
