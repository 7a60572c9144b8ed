#include "broker/coordinators/coordinator_log.h"

#include <algorithm>
#include <string>

#include "base/log.h"
#include "protocol/records/control_record.h"
#include "protocol/records/record_batch.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"

namespace barnabas::broker {

using protocol::ErrorCode;
using protocol::RecordBatchView;

namespace {

constinit Logger logger{"coordinator"};

/// Read at once, unless a single batch is larger.
constexpr uint64_t piece_bytes = 1 << 20;

void note_damage(const Partition& partition, Offset offset, const Error& error, LoadedLog& loaded) {
  constexpr uint64_t lines_max = 10;
  if (++loaded.damaged <= lines_max)
    logger.error("partition={} offset={} left out while loading: {}", partition.name().to_string(),
                 offset.value(), error.message);
  if (loaded.damaged == lines_max)
    logger.error("partition={} says no more of what it leaves out", partition.name().to_string());
}

void replay_markers(const RecordBatchView& batch, protocol::RecordView& record, LogReplay& into) {
  const auto type = protocol::control_record_type(record.key());
  if (type == protocol::ControlRecordType::commit || type == protocol::ControlRecordType::abort)
    into.end_transaction(batch.producer_id(), type == protocol::ControlRecordType::commit);
}

Result<void> replay_record(const RecordBatchView& batch, const protocol::RecordView& record,
                           LogReplay& into) {
  if (!record.key()) return fail(ErrorKind::corrupt, "a record without a key");
  return into.record({.key = *record.key(),
                      .value = record.value(),
                      .offset = record.offset,
                      .timestamp = record.timestamp,
                      .producer_id = batch.is_transactional() ? batch.producer_id() : no_producer_id});
}

void replay_batch(const Partition& partition, const RecordBatchView& batch, LogReplay& into,
                  LoadedLog& loaded) {
  if (!batch.verify_crc())
    return note_damage(partition, batch.base_offset(),
                       {ErrorKind::corrupt, "a batch that contradicts its checksum"}, loaded);
  protocol::RecordReader reader(batch);
  protocol::RecordView record;
  while (true) {
    const auto more = reader.next(record);
    if (!more) return note_damage(partition, batch.base_offset(), more.error(), loaded);
    if (!*more) return;
    if (batch.is_control()) {
      replay_markers(batch, record, into);
      continue;
    }
    ++loaded.records;
    if (const auto replayed = replay_record(batch, record, into); !replayed)
      note_damage(partition, record.offset, replayed.error(), loaded);
  }
}

}  // namespace

Result<Offset> CoordinatorLog::append(const std::vector<coordinator::Record>& records,
                                      const std::optional<coordinator::Producer>& producer, TimestampMs now,
                                      const storage::TransactionCheck& check) {
  protocol::RecordBatchOptions options{.compression = compression_};
  if (producer) {
    options.producer_id = producer->id;
    options.producer_epoch = producer->epoch;
    options.base_sequence = 0;  // as Kafka has it; nobody checks those of coordinators
    options.transactional = true;
  }
  protocol::RecordBatchBuilder builder(options);
  for (const coordinator::Record& record : records)
    builder.append(now, record.key, record.value ? std::optional<ByteView>(*record.value) : std::nullopt);
  std::vector<std::byte> batch = builder.build();
  const auto max_bytes = static_cast<std::size_t>(partition_->settings()->log.max_message_bytes);
  if (batch.size() > max_bytes)
    return fail(ErrorKind::too_large, std::to_string(records.size()) + " records make a batch of " +
                                          std::to_string(batch.size()) + " bytes, max.message.bytes is " +
                                          std::to_string(max_bytes));
  BARNABAS_ASSIGN(const auto appended,
                  partition_->append(batch, true, now, storage::AppendOrigin::coordinator, check));
  return appended.last_offset + 1;
}

Result<LoadedLog> CoordinatorLog::replay(LogReplay& into, const std::atomic<bool>& cancelled) const {
  LoadedLog loaded;
  loaded.end = partition_->log().log_start_offset();
  std::vector<std::byte> buffer;
  while (true) {
    if (cancelled.load(std::memory_order_relaxed)) return fail(ErrorKind::closed, "loading was given up");
    if (!partition_->active()) return fail(ErrorKind::closed, "the partition is no longer here");
    BARNABAS_ASSIGN(const bool more, replay_some(into, buffer, loaded));
    if (!more) return loaded;
  }
}

/// The next batches; false at the end.
Result<bool> CoordinatorLog::replay_some(LogReplay& into, std::vector<std::byte>& buffer,
                                         LoadedLog& loaded) const {
  storage::Log& log = partition_->log();
  const Offset end = log.log_end_offset();
  if (loaded.end >= end) return false;
  BARNABAS_ASSIGN(const storage::ReadResult read, log.read(loaded.end, piece_bytes, end, true));
  if (read.slice.length == 0) {
    // Compaction may leave nothing at the end.
    loaded.end = end;
    return false;
  }
  buffer.resize(std::max<std::size_t>(buffer.size(), read.slice.length));
  const MutableByteView piece = MutableByteView(buffer).first(read.slice.length);
  BARNABAS_ASSIGN(const std::size_t bytes, read.slice.file->read_at(piece, read.slice.position));
  const Offset before = loaded.end;
  protocol::BatchIterator batches(piece.first(bytes));
  while (batches.next() == protocol::BatchIterator::Step::batch) {
    const RecordBatchView& batch = batches.batch();
    if (batch.last_offset() < before) continue;
    replay_batch(*partition_, batch, into, loaded);
    loaded.end = batch.next_offset();
  }
  loaded.bytes += batches.position();
  if (!batches.remaining().empty() || loaded.end <= before)
    return fail(ErrorKind::corrupt, log.directory() + ": no batch where one should begin, at offset " +
                                        std::to_string(loaded.end.value()));
  return true;
}

ErrorCode coordinator_error_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::not_found:
    case ErrorKind::timed_out:
      return ErrorCode::coordinator_not_available;
    case ErrorKind::io:
    case ErrorKind::no_space:
    case ErrorKind::offline:
    case ErrorKind::closed:
      return ErrorCode::not_coordinator;
    case ErrorKind::invalid_producer_epoch:
      return ErrorCode::invalid_producer_epoch;
    case ErrorKind::invalid_transaction_state:
      return ErrorCode::invalid_txn_state;
    default:
      return ErrorCode::unknown_server_error;
  }
}

}  // namespace barnabas::broker
