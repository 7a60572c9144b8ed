#pragma once

#include <optional>

#include "base/result.h"
#include "metadata/delta.h"
#include "metadata/image.h"
#include "protocol/records/record_batch.h"

namespace barnabas::metadata {

/// Follows the metadata log: committed batches in, images out. Knows control records and metadata
/// transactions; an image never shows a part of one. Format: docs/formats/metadata-log.md. One thread.
class Replayer {
 public:
  /// `start` is the image that the batches go on from (an empty one, or that of a snapshot).
  explicit Replayer(MetadataImagePtr start);

  /// The next whole batch of the log; its checksum has been verified. ErrorKind::corrupt or unsupported name
  /// the offset; the replayer is of no use after an error, since going on would show a state that the log
  /// does not hold.
  Result<void> replay(const protocol::RecordBatchView& batch);

  /// The image after everything replayed so far, or nothing while a transaction is open or nothing came since
  /// the last call.
  Result<std::optional<NextImage>> take();

  /// Voters that the last LeaderChange named; empty before the first.
  const std::vector<NodeId>& leader_change_voters() const { return leader_change_voters_; }
  bool in_transaction() const { return before_transaction_.has_value(); }
  /// The last image given by take(), or the start.
  const MetadataImagePtr& image() const { return image_; }

 private:
  Result<void> replay_record(ByteView framed_value);
  Result<void> replay_control(ByteView key, ByteView value);

  MetadataImagePtr image_;
  MetadataDelta delta_;
  std::optional<MetadataDelta> before_transaction_;
  MetadataPosition position_;
  std::vector<NodeId> leader_change_voters_;
};

}  // namespace barnabas::metadata
