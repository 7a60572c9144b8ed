#include "cluster/metadata_log.h"

#include <algorithm>
#include <limits>

#include "protocol/records/record_batch_builder.h"

namespace barnabas::cluster {
namespace {

using metadata::SnapshotId;

/// One read of the log while it is replayed; a larger batch is read whole.
constexpr uint64_t read_bytes = 1 << 20;
constexpr uint64_t snapshot_bytes_max = uint64_t{1} << 31;

/// Nothing goes by age or size: only a snapshot makes segments superfluous.
std::shared_ptr<const storage::LogConfig> log_config() {
  auto config = std::make_shared<storage::LogConfig>();
  config->retention_ms = -1;
  config->retention_bytes = -1;
  config->max_message_bytes = std::numeric_limits<int32_t>::max();
  config->file_delete_delay_ms = 0;
  return config;
}

std::vector<SnapshotId> newest_first(const std::vector<io::DirectoryEntry>& entries) {
  std::vector<SnapshotId> ids;
  for (const auto& entry : entries) {
    if (const auto id = SnapshotId::parse_file_name(entry.name); id && !entry.is_directory) ids.push_back(*id);
  }
  std::ranges::sort(ids, std::greater<>());
  return ids;
}

Result<std::vector<std::byte>> read_slice(const io::FileSlice& slice) {
  std::vector<std::byte> bytes(slice.length);
  BARNABAS_ASSIGN(const std::size_t got, slice.file->read_at(bytes, slice.position));
  if (got != bytes.size()) return fail(ErrorKind::corrupt, slice.file->path() + ": the file ends within a batch");
  return bytes;
}

}  // namespace

Uuid metadata_topic_id() {
  Uuid id;
  id.bytes[15] = std::byte{1};
  return id;
}

Result<std::unique_ptr<MetadataLog>> MetadataLog::open(io::Disk& disk, storage::FilePool& files,
                                                       const std::string& log_directory, bool clean,
                                                       const metadata::MetadataImage& start, TimestampMs now) {
  std::unique_ptr<MetadataLog> log(new MetadataLog(disk, log_directory + "/" + std::string(metadata_log_directory)));
  BARNABAS_TRY(log->load_snapshot(start));
  BARNABAS_TRY(log->open_log(files, clean, now));
  if (auto replayed = log->replay_log(); !replayed) return fail(log->directory_, std::move(replayed).error());
  return log;
}

Result<void> MetadataLog::load_snapshot(const metadata::MetadataImage& start) {
  auto image = std::make_shared<const metadata::MetadataImage>(start);
  BARNABAS_ASSIGN(const bool exists, disk_.exists(directory_));
  if (exists) {
    BARNABAS_ASSIGN(const auto entries, disk_.list(directory_));
    const auto ids = newest_first(entries);
    if (!ids.empty()) {
      const std::string path = directory_ + "/" + ids.front().file_name();
      BARNABAS_ASSIGN(const std::string content, io::read_file(disk_, path, snapshot_bytes_max));
      auto read = metadata::read_snapshot(as_byte_view(content), ids.front(), start);
      if (!read) return fail(path, std::move(read).error());
      image = std::move(*read);
      snapshot_ = ids.front();
      last_epoch_ = ids.front().epoch;
    }
  }
  replayer_.emplace(std::move(image));
  return {};
}

Result<void> MetadataLog::open_log(storage::FilePool& files, bool clean, TimestampMs now) {
  storage::Log::OpenOptions options;
  options.topic = "__cluster_metadata";
  options.topic_id = metadata_topic_id();
  options.config = log_config();
  options.clean = clean;
  options.now = now;
  BARNABAS_ASSIGN(log_, storage::Log::open(disk_, files, directory_, std::move(options)));
  if (!snapshot_) {
    if (log_->log_start_offset() > Offset{0})
      return fail(ErrorKind::corrupt, directory_ + ": the log begins at offset " +
                                          std::to_string(log_->log_start_offset().value()) +
                                          " and there is no snapshot of what was before");
    return {};
  }
  const Offset end = snapshot_->end_offset;
  if (log_->log_start_offset() > end)
    return fail(ErrorKind::corrupt, directory_ + ": the log begins at offset " +
                                        std::to_string(log_->log_start_offset().value()) +
                                        " and the newest snapshot ends before, at " + std::to_string(end.value()));
  if (log_->log_end_offset() < end) BARNABAS_TRY(log_->truncate_fully_and_start_at(end));
  return {};
}

Result<void> MetadataLog::replay_log() {
  Offset next = snapshot_ ? snapshot_->end_offset : log_->log_start_offset();
  const Offset end = log_->log_end_offset();
  while (next < end) {
    BARNABAS_ASSIGN(const auto read, log_->read(next, read_bytes, end, true));
    BARNABAS_ASSIGN(const auto bytes, read_slice(read.slice));
    protocol::BatchIterator batches(bytes);
    while (batches.next() == protocol::BatchIterator::Step::batch) {
      const auto& batch = batches.batch();
      if (batch.last_offset() < next) continue;
      if (!batch.verify_crc())
        return fail(ErrorKind::corrupt, "the batch at offset " + std::to_string(batch.base_offset().value()) +
                                            " does not fit its checksum");
      BARNABAS_TRY(replayer_->replay(batch));
      last_epoch_ = std::max(last_epoch_, batch.partition_leader_epoch());
      bytes_since_snapshot_ += batch.size_bytes();
      next = batch.next_offset();
    }
    if (batches.position() == 0)
      return fail(ErrorKind::corrupt, "no whole batch at offset " + std::to_string(next.value()));
  }
  return {};
}

Result<void> MetadataLog::append_batch(std::vector<std::byte> batch, LeaderEpoch epoch, TimestampMs now) {
  BARNABAS_TRY(log_->append_as_leader(batch, epoch, now, storage::AppendOrigin::raft_leader));
  last_epoch_ = epoch;
  bytes_since_snapshot_ += batch.size();
  return replayer_->replay(protocol::RecordBatchView::trusted(batch));
}

Result<void> MetadataLog::append(const metadata::RecordList& records, LeaderEpoch epoch, TimestampMs now) {
  protocol::RecordBatchBuilder builder;
  for (std::size_t i = 0; i < records.size(); ++i) builder.append(now, std::nullopt, records[i]);
  return append_batch(builder.build(), epoch, now);
}

Result<void> MetadataLog::append_control(const std::vector<metadata::ControlRecord>& records, LeaderEpoch epoch,
                                         TimestampMs now) {
  protocol::RecordBatchOptions options;
  options.control = true;
  protocol::RecordBatchBuilder builder(options);
  for (const auto& record : records) builder.append(now, record.key, record.value);
  return append_batch(builder.build(), epoch, now);
}

Result<void> MetadataLog::flush() {
  BARNABAS_TRY(log_->flush());
  return {};
}

Result<void> MetadataLog::write_snapshot(const metadata::MetadataImage& image, TimestampMs now) {
  const SnapshotId id{image.position.offset + 1, image.position.epoch};
  const auto content = metadata::write_snapshot(image, now);
  BARNABAS_TRY(io::replace_file(disk_, directory_ + "/" + id.file_name(), as_text(content)));
  snapshot_ = id;
  bytes_since_snapshot_ = 0;
  return remove_superfluous(id, now);
}

Result<void> MetadataLog::remove_superfluous(const SnapshotId& kept, TimestampMs now) {
  // The active segment never goes; a new one lets the next snapshot free what is in this one.
  BARNABAS_TRY(log_->roll(now));
  BARNABAS_TRY(log_->delete_records_before(kept.end_offset));
  BARNABAS_TRY(log_->apply_retention(now, kept.end_offset));
  for (const auto& path : log_->take_deleted_files()) BARNABAS_TRY(disk_.remove(path));
  BARNABAS_ASSIGN(const auto entries, disk_.list(directory_));
  for (const auto& id : newest_first(entries)) {
    if (id < kept) BARNABAS_TRY(disk_.remove(directory_ + "/" + id.file_name()));
  }
  return {};
}

}  // namespace barnabas::cluster
