#pragma once

#include <cstdint>
#include <vector>

#include "base/types.h"

namespace barnabas::protocol {

/// How a transaction of a producer ended, for one partition (KIP-98).
struct TransactionMarker {
  ProducerId producer_id = no_producer_id;
  ProducerEpoch producer_epoch = no_producer_epoch;
  bool committed = false;
  /// Leader epoch of the coordinator's own partition: an older coordinator is fenced by it.
  int32_t coordinator_epoch = 0;
  /// 2: its epoch is newer than that of the transaction it ends (KIP-890). Not in the batch.
  int16_t transaction_version = 0;
};

/// The control batch that says so, without offset and leader epoch.
std::vector<std::byte> transaction_marker_batch(const TransactionMarker& marker, TimestampMs now);

}  // namespace barnabas::protocol
