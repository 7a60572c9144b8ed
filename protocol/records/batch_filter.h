#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "protocol/records/record_batch.h"

namespace barnabas::protocol {

/// What compaction must know of a record besides its key.
struct RecordFacts {
  Offset offset;
  bool has_key = false;
  bool has_value = false;  ///< false: a tombstone
};

/// Told of every record of a batch, in order. Keys come in pieces: one of any size needs no memory.
class KeyVisitor {
 public:
  virtual ~KeyVisitor() = default;
  /// The next bytes of the key of the record whose facts follow. Not called for a null key.
  virtual void key(ByteView piece) = 0;
  /// The record is done. False ends the walk.
  virtual bool record(const RecordFacts& facts) = 0;
};

/// Goes through the records of a batch and checks their structure as RecordReader does, but for what follows
/// a walk that was ended. Decompresses in a stream, with memory bounded by a constant. Errors as
/// RecordReader.
Result<void> visit_keys(const RecordBatchView& batch, KeyVisitor& visitor);

struct BatchFilter {
  /// One for each record of the batch, in order: whether it stays. At least one does.
  const std::vector<bool>& kept;
  /// Sets the delete horizon anew (KIP-534); empty: what the batch has is kept.
  std::optional<TimestampMs> delete_horizon;
  /// The result is given up when it gets larger.
  std::size_t size_max = INT32_MAX;
};

/// The batch with only some of its records, built as Apache Kafka's log cleaner builds it: base offset, last
/// offset delta, epochs, producer, sequence, codec and attributes stay; offsets and timestamps of the records
/// too. Empty: above size_max. Errors as RecordReader. Records are not held, only the result is.
Result<std::optional<std::vector<std::byte>>> filter_batch(const RecordBatchView& batch,
                                                           const BatchFilter& filter);

/// The batch without any record, as compaction keeps it for its last offset and sequence: offsets, epochs,
/// producer, largest timestamp and attributes stay, but codec and delete horizon are gone.
std::vector<std::byte> emptied_batch(const RecordBatchView& batch);

}  // namespace barnabas::protocol
