#pragma once

#include <cstdint>
#include <optional>

#include "base/endian.h"
#include "base/types.h"

namespace barnabas::protocol {

/// What a record of a control batch says; the number is in its key behind an int16 version.
enum class ControlRecordType : int16_t {
  abort = 0,            ///< transaction marker (KIP-98)
  commit = 1,           ///< transaction marker
  leader_change = 2,    ///< metadata log (KIP-595)
  snapshot_header = 3,  ///< snapshot (KIP-630)
  snapshot_footer = 4,
  kraft_version = 5,  ///< metadata log (KIP-853)
  kraft_voters = 6,
};

/// The number may be one that a newer Kafka writes: such records are to be skipped. Nothing for a key that is
/// too short or has a negative version.
inline std::optional<ControlRecordType> control_record_type(std::optional<ByteView> key) {
  if (!key || key->size() < 4 || load_big_endian<int16_t>(key->data()) < 0) return std::nullopt;
  return static_cast<ControlRecordType>(load_big_endian<int16_t>(key->data() + 2));
}

/// The coordinator epoch in the value of a transaction marker (int16 version, int32 epoch); nothing if it is
/// too short.
inline std::optional<int32_t> transaction_marker_coordinator_epoch(std::optional<ByteView> value) {
  if (!value || value->size() < 6) return std::nullopt;
  return load_big_endian<int32_t>(value->data() + 2);
}

}  // namespace barnabas::protocol
