#pragma once

#include <array>
#include <cstdint>

#include "protocol/messages/broker_registration_change_record.h"

/// The versions in which Kafka writes records at a metadata.version. Not the newest ones: a reader of an
/// older version would die of them (docs/formats/metadata-log.md has the table).
namespace barnabas::metadata {

/// Each brought records, or versions of records, that the one before does not know: going back would lose
/// them. 3.4-IV0, 3.5-IV2, 3.6-IV1, 3.6-IV2, 3.7-IV0, 3.7-IV2, 4.0-IV1, 4.3-IV0, 4.4-IV1, 4.4-IV2.
inline constexpr auto versions_with_new_records =
    std::to_array<int16_t>({8, 11, 13, 14, 15, 17, 23, 30, 32, 33});

inline constexpr int16_t partition_record_version(int16_t metadata_version) {
  if (metadata_version >= 23) return 2;   // 4.0-IV1: eligible leader replicas
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
inline constexpr bool registers_controllers(int16_t metadata_version) {
  return metadata_version >= 15;
}
inline constexpr bool has_scram(int16_t metadata_version) {
  return metadata_version >= 11;  // 3.5-IV2
}
inline constexpr bool has_delegation_tokens(int16_t metadata_version) {
  return metadata_version >= 14;  // 3.6-IV2
}
inline constexpr bool has_transactions(int16_t metadata_version) {
  return metadata_version >= 13;
}
/// Hosts of access control entries may be networks (KIP-1276).
inline constexpr bool allows_address_blocks(int16_t metadata_version) {
  return metadata_version >= 32;  // 4.4-IV1
}
inline constexpr bool has_directories(int16_t metadata_version) {
  return metadata_version >= 17;
}

/// The lowest version that can say what the record says.
inline int16_t registration_change_record_version(const protocol::BrokerRegistrationChangeRecord& record) {
  if (record.cordoned_log_dirs) return 3;
  if (!record.log_dirs.empty()) return 2;
  return record.in_controlled_shutdown != 0 ? 1 : 0;
}

}  // namespace barnabas::metadata
