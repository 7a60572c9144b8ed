#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "protocol/records/record_batch.h"
#include "storage/producer_state.h"

namespace barnabas::storage {

/// The ".snapshot" file: the producer state of a partition below the offset in its name.
/// Format: docs/formats/producer-snapshot.md.
namespace producer_snapshot {

inline constexpr std::size_t header_bytes = 10;
inline constexpr std::size_t entry_bytes = 46;
inline constexpr int16_t version = 1;
inline constexpr std::size_t crc_at = 2;
inline constexpr std::size_t crc_from = 6;

/// Of each producer the newest batch only, as the format has room for one.
std::vector<std::byte> format(const std::vector<ProducerStateEntry>& entries);
/// ErrorKind::corrupt: checksum or size are wrong; unsupported: another version.
Result<std::vector<ProducerStateEntry>> parse(ByteView bytes);

}  // namespace producer_snapshot

/// Reads the record of a control batch that ends a transaction; nullopt when it is another kind of control
/// batch, or an empty one that compaction left. ErrorKind::corrupt or invalid_record when it cannot be read.
Result<std::optional<EndTransactionMarker>> read_end_transaction_marker(
    const protocol::RecordBatchView& batch);

}  // namespace barnabas::storage
