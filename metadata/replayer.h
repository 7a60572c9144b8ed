#pragma once

#include <optional>

#include "base/result.h"
#include "metadata/delta.h"
#include "metadata/image.h"
#include "protocol/records/record_batch.h"

namespace barnabas::metadata {

/// Follows the metadata log: committed batches in, images out. Knows control records and metadata transactions; an image
/// never shows a part of one. Format: docs/formats/metadata-log.md. One thread.
class Replayer {
 public:
  /// `start` is the image that the batches go on from (an empty one, or that of a snapshot).
  explicit Replayer(MetadataImagePtr start);

  /// The next whole batch of the log; its checksum has been verified. ErrorKind::corrupt or unsupported name the offset;
  /// the replayer is of no use after an error, since going on would show a state that the log does not hold.
  Result<void> replay(const protocol::RecordBatchView& batch);

  /// The image after everything replayed so far, or nothing while a transaction is open or nothing came since the last
  /// call.
  Result<std::optional<NextImage>> take();

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
};

/// Control records of the metadata log by their type on the wire.
enum class ControlType : int16_t {
  leader_change = 2,
  snapshot_header = 3,
  snapshot_footer = 4,
  kraft_version = 5,
  voters = 6,
};

/// The key of a control record: two int16, version 0 and type.
std::vector<std::byte> control_key(ControlType type);
/// Empty if that is no such key, or a type that is not known here.
std::optional<ControlType> parse_control_key(ByteView key);

}  // namespace barnabas::metadata
