#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::storage {

struct EpochStart {
  LeaderEpoch epoch;
  Offset start_offset;
  bool operator==(const EpochStart&) const = default;
};

/// Answer to "where did this epoch end"; both -1 when that is not known.
struct EpochEnd {
  LeaderEpoch epoch = no_leader_epoch;
  Offset end_offset = no_offset;
  bool operator==(const EpochEnd&) const = default;
};

/// Which leader epoch began at which offset of a log (KIP-101, KIP-279). Pure; epochs and offsets both
/// ascend. File: docs/formats/leader-epoch-checkpoint.md.
class LeaderEpochCache {
 public:
  /// A newer epoch begins at `start`. Entries that contradict it (a later start) go. Returns whether
  /// something changed.
  bool assign(LeaderEpoch epoch, Offset start);

  /// The newest epoch ends at `log_end`; an epoch between two known ones ends, as the one before it, where
  /// the next begins; one older than all is answered with itself and the start of the oldest; newer than all:
  /// unknown.
  EpochEnd end_offset(LeaderEpoch epoch, Offset log_end) const;

  std::optional<EpochStart> latest() const;
  std::optional<EpochStart> earliest() const;
  /// Epoch of the record at an offset.
  std::optional<LeaderEpoch> epoch_of(Offset offset) const;

  /// Forgets epochs that begin at or after `end`. Returns whether something changed.
  bool truncate_from_end(Offset end);
  /// Forgets what lies before `start`; the epoch that contains it begins there from now on.
  bool truncate_from_start(Offset start);
  void clear() { entries_.clear(); }

  const std::vector<EpochStart>& entries() const { return entries_; }

  std::string format() const;
  /// ErrorKind::corrupt names line and finding.
  static Result<LeaderEpochCache> parse(std::string_view text);

  bool operator==(const LeaderEpochCache&) const = default;

 private:
  std::vector<EpochStart> entries_;
};

}  // namespace barnabas::storage
