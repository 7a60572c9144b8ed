#include "storage/producer_snapshot.h"

#include "base/crc32c.h"
#include "base/endian.h"
#include "protocol/records/record_reader.h"

namespace barnabas::storage {
namespace producer_snapshot {
namespace {

constexpr std::size_t epoch_at = 8, last_sequence_at = 10, last_offset_at = 14, offset_delta_at = 22,
                      timestamp_at = 26, coordinator_epoch_at = 34, transaction_at = 38;
static_assert(transaction_at + sizeof(int64_t) == entry_bytes);
static_assert(crc_from + sizeof(int32_t) == header_bytes);

void store(const ProducerStateEntry& entry, std::byte* to) {
  const ProducerBatch last = entry.empty() ? ProducerBatch{} : entry.known_batches().back();
  store_big_endian(to, entry.producer_id.value());
  store_big_endian(to + epoch_at, entry.epoch.value());
  store_big_endian(to + last_sequence_at, last.last_sequence);
  store_big_endian(to + last_offset_at, last.last_offset.value());
  store_big_endian(to + offset_delta_at, last.offset_delta);
  store_big_endian(to + timestamp_at, entry.last_timestamp.value());
  store_big_endian(to + coordinator_epoch_at, entry.coordinator_epoch);
  store_big_endian(to + transaction_at, entry.current_txn_first_offset.value());
}

ProducerStateEntry load(const std::byte* from) {
  ProducerStateEntry entry;
  entry.producer_id = ProducerId(load_big_endian<int64_t>(from));
  entry.epoch = ProducerEpoch(load_big_endian<int16_t>(from + epoch_at));
  entry.last_timestamp = TimestampMs(load_big_endian<int64_t>(from + timestamp_at));
  entry.coordinator_epoch = load_big_endian<int32_t>(from + coordinator_epoch_at);
  entry.current_txn_first_offset = Offset(load_big_endian<int64_t>(from + transaction_at));
  const ProducerBatch last{.last_sequence = load_big_endian<int32_t>(from + last_sequence_at),
                           .offset_delta = load_big_endian<int32_t>(from + offset_delta_at),
                           .last_offset = Offset(load_big_endian<int64_t>(from + last_offset_at)),
                           .timestamp = entry.last_timestamp};
  if (last.last_offset >= Offset{0}) {
    entry.batches[0] = last;
    entry.batch_count = 1;
    entry.history_complete = false;
  }
  return entry;
}

}  // namespace

std::vector<std::byte> format(const std::vector<ProducerStateEntry>& entries) {
  std::vector<std::byte> bytes(header_bytes + entries.size() * entry_bytes);
  store_big_endian(bytes.data(), version);
  store_big_endian(bytes.data() + crc_from, static_cast<int32_t>(entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i)
    store(entries[i], bytes.data() + header_bytes + i * entry_bytes);
  store_big_endian(bytes.data() + crc_at, crc32c(ByteView(bytes).subspan(crc_from)));
  return bytes;
}

Result<std::vector<ProducerStateEntry>> parse(ByteView bytes) {
  if (bytes.size() < header_bytes)
    return fail(ErrorKind::corrupt, "producer snapshot of " + std::to_string(bytes.size()) + " bytes");
  if (const auto found = load_big_endian<int16_t>(bytes.data()); found != version)
    return fail(ErrorKind::unsupported, "producer snapshot of version " + std::to_string(found));
  const auto expected = load_big_endian<uint32_t>(bytes.data() + crc_at);
  if (const uint32_t found = crc32c(bytes.subspan(crc_from)); found != expected)
    return fail(ErrorKind::corrupt, "producer snapshot: checksum " + std::to_string(found) + ", expected " +
                                        std::to_string(expected));
  const auto count = load_big_endian<int32_t>(bytes.data() + crc_from);
  if (count < 0 || bytes.size() != header_bytes + static_cast<std::size_t>(count) * entry_bytes)
    return fail(ErrorKind::corrupt, "producer snapshot: " + std::to_string(bytes.size()) + " bytes with " +
                                        std::to_string(count) + " entries");
  std::vector<ProducerStateEntry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  for (std::size_t at = header_bytes; at < bytes.size(); at += entry_bytes) {
    entries.push_back(load(bytes.data() + at));
    if (entries.back().producer_id < ProducerId{0})
      return fail(ErrorKind::corrupt,
                  "producer snapshot: producer id " + std::to_string(entries.back().producer_id.value()));
  }
  return entries;
}

}  // namespace producer_snapshot

Result<std::optional<EndTransactionMarker>> read_end_transaction_marker(
    const protocol::RecordBatchView& batch) {
  constexpr int16_t abort_type = 0, commit_type = 1;
  constexpr std::size_t coordinator_epoch_at = 2;
  if (batch.record_count() == 0) return std::nullopt;
  protocol::RecordReader reader(batch);
  protocol::RecordView record;
  BARNABAS_ASSIGN(const bool there, reader.next(record));
  if (!there) return std::nullopt;
  const auto key = record.key();
  if (!key || key->size() < 2 * sizeof(int16_t))
    return fail(ErrorKind::corrupt, "control record without a type");
  const auto type = load_big_endian<int16_t>(key->data() + sizeof(int16_t));
  if (type != abort_type && type != commit_type) return std::nullopt;
  const auto value = record.value();
  if (!value || value->size() < coordinator_epoch_at + sizeof(int32_t))
    return fail(ErrorKind::corrupt, "transaction marker without a coordinator epoch");
  return EndTransactionMarker{
      .abort = type == abort_type,
      .coordinator_epoch = load_big_endian<int32_t>(value->data() + coordinator_epoch_at),
      .timestamp = record.timestamp};
}

}  // namespace barnabas::storage
