#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "broker/partition.h"
#include "coordinator/decision.h"
#include "coordinator/record.h"
#include "protocol/compression/compressor.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

/// Whoever takes in what a coordinator's log holds. An error is written to the log of the broker, and the
/// rest goes on.
class LogReplay {
 public:
  virtual ~LogReplay() = default;
  virtual Result<void> record(const coordinator::ReplayedRecord& record) = 0;
  virtual void end_transaction(ProducerId producer, bool committed) = 0;
};

/// What reading a coordinator's log found.
struct LoadedLog {
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint64_t damaged = 0;  ///< records and batches that did not decode, and were left out
  Offset end;            ///< everything below has been replayed
};

/// The log of one shard, behind the partition that holds it.
class CoordinatorLog {
 public:
  CoordinatorLog(std::shared_ptr<Partition> partition, protocol::Compression compression)
      : partition_(std::move(partition)), compression_(compression) {}

  Partition& partition() const { return *partition_; }

  /// Appends the records as one batch, which belongs to a transaction of `producer` if there is one; it waits
  /// for the disk as one with acks=all does. Returns the log end after it. ErrorKind::too_large: they do not
  /// fit into one batch of the topic; all else as Partition::append. After an error nothing was appended.
  Result<Offset> append(const std::vector<coordinator::Record>& records,
                        const std::optional<coordinator::Producer>& producer, TimestampMs now,
                        const storage::TransactionCheck& check = {});

  /// Reads everything from the log start to the log end, in order. Ends early, with ErrorKind::closed, once
  /// `cancelled` is set or the partition is no longer here. ErrorKind::io, corrupt: the rest cannot be read.
  /// Blocks.
  Result<LoadedLog> replay(LogReplay& into, const std::atomic<bool>& cancelled) const;

 private:
  Result<bool> replay_some(LogReplay& into, std::vector<std::byte>& buffer, LoadedLog& loaded) const;

  std::shared_ptr<Partition> partition_;
  protocol::Compression compression_;
};

/// What a client of a coordinator is told of an append that was refused, or of a wait for the disk that
/// failed: codes that make it look for the coordinator again or try again, as Kafka's coordinators do.
protocol::ErrorCode coordinator_error_of(ErrorKind kind);

}  // namespace barnabas::broker
