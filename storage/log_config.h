#pragma once

#include <cstdint>
#include <limits>

#include "protocol/records/record_batch.h"

namespace barnabas::storage {

/// The settings of one partition's log, with the defaults of Kafka 4.4's topic settings of the same names
/// (dots for underscores). Values come in checked; -1 means "no limit" where Kafka says so.
struct LogConfig {
  int32_t segment_bytes = 1 << 30;         ///< roll before a segment gets larger than this
  int64_t segment_ms = 604'800'000;        ///< roll when the first record of the segment is older
  int64_t segment_jitter_ms = 0;           ///< a random part of this is taken off segment_ms, per segment
  int32_t segment_index_bytes = 10 << 20;  ///< roll when an index would get larger
  int32_t index_interval_bytes = 4096;     ///< an index entry at most every so many bytes of log
  bool preallocate = false;                ///< accepted, without effect

  bool cleanup_delete = true;          ///< cleanup.policy contains delete: retention applies
  bool cleanup_compact = false;        ///< cleanup.policy contains compact
  int64_t retention_ms = 604'800'000;  ///< -1: for ever
  int64_t retention_bytes = -1;        ///< -1: any size
  int64_t file_delete_delay_ms = 60'000;
  int64_t delete_retention_ms = 86'400'000;
  int64_t min_compaction_lag_ms = 0;
  int64_t max_compaction_lag_ms = std::numeric_limits<int64_t>::max();
  double min_cleanable_dirty_ratio = 0.5;

  int64_t flush_messages = std::numeric_limits<int64_t>::max();
  int64_t flush_ms = std::numeric_limits<int64_t>::max();

  int32_t max_message_bytes = 1'048'588;  ///< the whole batch; checked by produce validation, not by the log
  protocol::TimestampType message_timestamp_type = protocol::TimestampType::create_time;
  int64_t message_timestamp_before_max_ms = std::numeric_limits<int64_t>::max();
  int64_t message_timestamp_after_max_ms = 3'600'000;
  int32_t min_insync_replicas = 1;

  int64_t producer_id_expiration_ms = 86'400'000;  ///< a broker setting: producer.id.expiration.ms

  bool operator==(const LogConfig&) const = default;
};

}  // namespace barnabas::storage
