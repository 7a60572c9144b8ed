#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace barnabas::coordinator {

/// Numbers as in the log (TransactionStatus). `dead` and `prepare_epoch_fence` are names that Kafka's
/// requests know; they are never written: an id dies by its tombstone, and a fence is a part of the abort.
enum class TransactionState : int8_t {
  empty = 0,
  ongoing = 1,
  prepare_commit = 2,
  prepare_abort = 3,
  complete_commit = 4,
  complete_abort = 5,
  dead = 6,
  prepare_epoch_fence = 7,
};

/// As DescribeTransactions and ListTransactions spell it: "PrepareCommit".
std::string_view name_of(TransactionState state);
/// Nothing: no state is spelt so, upper and lower case counted.
std::optional<TransactionState> transaction_state_of(std::string_view name);

/// The partitions of a transaction: each list sorted, without repetitions, not empty.
using TransactionPartitions = std::map<std::string, std::vector<int32_t>>;

bool contains(const TransactionPartitions& partitions, const std::string& topic, int32_t partition);
void insert(TransactionPartitions& partitions, const std::string& topic, int32_t partition);
void remove(TransactionPartitions& partitions, const std::string& topic, int32_t partition);

/// From this transaction version on (KIP-890) each end of a transaction gives the producer its next epoch.
inline constexpr int16_t first_version_with_epoch_bump = 2;

/// The last epoch that is kept from producers, so that one who has the one before can always be fenced.
inline constexpr ProducerEpoch exhausted_epoch{32766};

/// Where one transactional id stands. A value: what it becomes is made by the functions below.
struct Transaction {
  ProducerId producer_id;
  /// The id before the last change, most often the same.
  ProducerId previous_producer_id = no_producer_id;
  /// While the outcome is carried out: what the producer goes on with, if its epochs are used up.
  ProducerId next_producer_id = no_producer_id;
  ProducerEpoch producer_epoch = no_producer_epoch;
  /// What a producer may still say that did not hear of its new epoch (KIP-360). Not in the log.
  ProducerEpoch last_producer_epoch = no_producer_epoch;
  int32_t timeout_ms = 0;
  TransactionState state = TransactionState::empty;
  int16_t client_version = 0;  ///< transaction version by which the producer changed it last
  TimestampMs started_at = no_timestamp;
  TimestampMs updated_at = no_timestamp;
  /// While the outcome is carried out: those that miss their markers.
  TransactionPartitions partitions = {};

  bool operator==(const Transaction&) const = default;

  bool is_decided() const {
    return state == TransactionState::prepare_commit || state == TransactionState::prepare_abort;
  }
  bool is_complete() const {
    return state == TransactionState::complete_commit || state == TransactionState::complete_abort;
  }
  bool epochs_are_used_up() const { return producer_epoch >= exhausted_epoch; }
  /// A transaction of two-phase commit has no timeout (KIP-939).
  bool has_timed_out(TimestampMs now) const;
};

/// A transactional id that nobody used before; not written before it is initialized.
Transaction new_transaction(ProducerId producer, TimestampMs now);
/// InitProducerId: empty again, with these epochs.
Transaction initialized(const Transaction& of, ProducerEpoch epoch, ProducerEpoch last_epoch,
                        int32_t timeout_ms, TimestampMs now);
/// InitProducerId when the epochs are used up.
Transaction initialized_anew(const Transaction& of, ProducerId producer, ProducerEpoch last_epoch,
                             int32_t timeout_ms, TimestampMs now);
Transaction with_partitions(const Transaction& of, const TransactionPartitions& more, int16_t client_version,
                            TimestampMs now);
/// The outcome is decided. `next`: no_producer_id unless the epochs are used up.
Transaction decided(const Transaction& of, bool committed, int16_t client_version, ProducerId next,
                    TimestampMs now);
/// The markers are written.
Transaction completed(const Transaction& of, TimestampMs now);

}  // namespace barnabas::coordinator
