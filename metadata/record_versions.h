#pragma once

#include <cstdint>

#include "protocol/messages/broker_registration_change_record.h"

/// The versions in which Kafka writes records at a metadata.version. Not the newest ones: a reader of an older version
/// would die of them (docs/formats/metadata-log.md has the table).
namespace barnabas::metadata {

inline constexpr int16_t partition_record_version(int16_t metadata_version) {
  if (metadata_version >= 23) return 2;  // 4.0-IV1: eligible leader replicas
  return metadata_version >= 17 ? 1 : 0;  // 3.7-IV2: directories
}
inline constexpr int16_t partition_change_record_version(int16_t metadata_version) {
  return partition_record_version(metadata_version);
}
inline constexpr int16_t register_broker_record_version(int16_t metadata_version) {
  if (metadata_version >= 30) return 4;  // 4.3-IV0: cordoned directories
  if (metadata_version >= 17) return 3;
  return metadata_version >= 8 ? 2 : 1;
}
inline constexpr bool registers_controllers(int16_t metadata_version) { return metadata_version >= 15; }
inline constexpr bool has_transactions(int16_t metadata_version) { return metadata_version >= 13; }
inline constexpr bool has_directories(int16_t metadata_version) { return metadata_version >= 17; }

/// The lowest version that can say what the record says.
inline int16_t registration_change_record_version(const protocol::BrokerRegistrationChangeRecord& record) {
  if (record.cordoned_log_dirs) return 3;
  if (!record.log_dirs.empty()) return 2;
  return record.in_controlled_shutdown != 0 ? 1 : 0;
}

}  // namespace barnabas::metadata
