#pragma once

#include <cstdint>
#include <optional>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/types.h"

namespace barnabas::storage {

/// Stands for one question to a transaction's coordinator, asked before the transaction's first batch is
/// appended. What ends the transaction here makes the guard worthless: an answer that was overtaken opens no
/// transaction that nobody would ever end, and joins no later one.
using VerificationGuard = Strong<struct VerificationGuardTag, int64_t>;
inline constexpr VerificationGuard no_guard{0};

/// What the first batch of a transaction in a partition says of itself.
struct TransactionBegin {
  ProducerId producer_id = no_producer_id;
  ProducerEpoch epoch = no_producer_epoch;
  int32_t sequence = no_sequence;
  /// Of transaction version 2: the coordinator adds the partition, and each transaction has its own epoch.
  bool adds_partition = false;
};

/// How an append is held against what is known of transactions.
struct TransactionCheck {
  /// A transactional batch needs a transaction that is open here, or this guard.
  bool must_be_verified = false;
  VerificationGuard guard = no_guard;
  /// Of a marker. From 2 on its epoch is newer than that of the transaction it ends (KIP-890).
  int16_t marker_version = 0;
};

/// The questions that are asked for one partition (KIP-890). Pure; not kept over a restart, after which
/// they are asked again.
class TransactionVerifications {
 public:
  struct Pending {
    VerificationGuard guard = no_guard;
    TimestampMs since = no_timestamp;
    ProducerEpoch epoch = no_producer_epoch;
    /// The lowest one that was asked for in this epoch: a later batch must not come first only because the
    /// question of an earlier one failed, or the earlier one could never be appended.
    int32_t lowest_sequence = no_sequence;
    bool adds_partition = false;
  };

  /// The guard of the producer's question in this epoch, `fresh` when it had none. A newer epoch takes the
  /// place of an older one, whose guards are worthless from then on: a zombie that the coordinator refuses
  /// takes nothing from the producer that fenced it.
  VerificationGuard begin(const TransactionBegin& batch, VerificationGuard fresh, TimestampMs now);
  /// Null when nothing is asked for the producer.
  const Pending* find(ProducerId id) const;
  /// The producer's first batch was appended.
  void opened(ProducerId id);
  /// Whether an append with this guard, or none, may go on in the transaction that is open: one that was
  /// agreed upon for another transaction of the same epoch (version 1) came too late.
  bool may_go_on(ProducerId id, VerificationGuard guard) const;
  /// The coordinator refused for good: the question is forgotten if it still is this one.
  void refuse(ProducerId id, VerificationGuard guard);
  /// The producer's transaction has ended.
  void clear(ProducerId id) {
    pending_.erase(id.value());
    opened_by_.erase(id.value());
  }
  void expire(TimestampMs now, int64_t expiration_ms);
  std::size_t size() const { return pending_.size(); }

 private:
  boost::unordered_flat_map<int64_t, Pending> pending_;
  boost::unordered_flat_map<int64_t, VerificationGuard> opened_by_;
};

}  // namespace barnabas::storage
