#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "coordinator/decision.h"
#include "coordinator/group.h"
#include "coordinator/shard_environment.h"
#include "metadata/publisher.h"

namespace barnabas::coordinator {

/// A record as it is replayed: keys and values borrow, for the call.
struct ReplayedRecord {
  ByteView key;
  std::optional<ByteView> value;  ///< none: a tombstone
  Offset offset;
  TimestampMs timestamp;
  /// Of a transaction that is not decided yet (TxnOffsetCommit); no_producer_id otherwise.
  ProducerId producer_id = no_producer_id;
};

/// The groups and offsets of one partition of __consumer_offsets: a pure state machine. Every method runs on
/// the one thread of the shard and gives a Decision, which that thread carries out before it calls the next
/// one.
class GroupShard {
 public:
  explicit GroupShard(ShardEnvironment environment);

  // --- for whoever runs it
  // -----------------------------------------------------------------------------------

  /// ErrorKind::corrupt: a key or value that does not decode. Records of types that this version does not
  /// know are skipped.
  Result<void> replay(const ReplayedRecord& record);
  /// A transaction of this producer ended (marker in the log).
  void end_transaction(ProducerId producer, bool committed);
  /// The log is replayed to its end; timers begin.
  Decision loaded(const Now& now);
  /// Another metadata image. `changes` says what is different from the one before.
  Decision metadata_changed(const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image,
                            const Now& now);
  /// No longer led by this broker: answers all that wait with not_coordinator.
  Decision unload();
  Timers& timers() { return environment_.timers; }

 private:
  ShardEnvironment environment_;
  GroupTable groups_;
};

}  // namespace barnabas::coordinator
