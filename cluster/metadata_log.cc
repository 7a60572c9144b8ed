#include "cluster/metadata_log.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "cluster/metadata_log_damage.h"
#include "protocol/records/record_batch_builder.h"
#include "storage/partition_directory.h"

namespace barnabas::cluster {
namespace {

using metadata::SnapshotId;

/// One read of the log while it is replayed; a larger batch is read whole.
constexpr uint64_t read_bytes = 1 << 20;
/// What a batch has beside the values of its records: header, lengths, deltas.
constexpr std::size_t batch_overhead = 64;
constexpr std::size_t record_overhead = 16;

/// Nothing goes by age or size of its own: only a snapshot makes segments superfluous.
std::shared_ptr<const storage::LogConfig> log_config(const MetadataLogSettings& settings) {
  auto config = std::make_shared<storage::LogConfig>();
  config->segment_bytes = settings.segment_bytes;
  config->segment_ms = settings.segment_ms;
  config->retention_ms = -1;
  config->retention_bytes = -1;
  config->max_message_bytes = std::numeric_limits<int32_t>::max();
  config->file_delete_delay_ms = 0;
  return config;
}

std::size_t batch_bytes(const metadata::RecordList& records) {
  return batch_overhead + records.size_bytes() + records.size() * record_overhead;
}

Result<std::vector<std::byte>> read_slice(const io::FileSlice& slice) {
  std::vector<std::byte> bytes(slice.length);
  BARNABAS_ASSIGN(const std::size_t got, slice.file->read_at(bytes, slice.position));
  if (got != bytes.size())
    return fail(ErrorKind::corrupt, slice.file->path() + ": the file ends within a batch");
  return bytes;
}

/// Nothing of it was written, and the log is usable.
bool is_refusal(const Error& error) {
  return error.kind == ErrorKind::no_space || error.kind == ErrorKind::too_large;
}

}  // namespace

Uuid metadata_topic_id() {
  Uuid id;
  id.bytes[15] = std::byte{1};
  return id;
}

// --- opening
// -----------------------------------------------------------------------------------------------------

Result<std::unique_ptr<MetadataLog>> MetadataLog::open(io::Disk& disk, storage::FilePool& files,
                                                       const std::string& log_directory, bool clean,
                                                       const metadata::MetadataImage& start,
                                                       const MetadataLogSettings& settings, TimestampMs now) {
  std::unique_ptr<MetadataLog> log(
      new MetadataLog(disk, log_directory + "/" + std::string(storage::metadata_directory_name), settings));
  BARNABAS_TRY(log->load_snapshot(start));
  BARNABAS_TRY(log->open_log(files, clean, now));
  BARNABAS_TRY(log->check_reach());
  if (auto replayed = log->replay_log(); !replayed) return fail(log->directory_, std::move(replayed).error());
  log->committed_ = log->replayer_->image();
  BARNABAS_TRY(log->snapshots_.set_damaged_aside());
  log->snapshot_wanted_ = log->snapshots_.damaged().has_value();
  return log;
}

Result<void> MetadataLog::load_snapshot(const metadata::MetadataImage& start) {
  BARNABAS_ASSIGN(auto image, snapshots_.load(start));
  if (snapshots_.newest()) last_epoch_ = snapshots_.newest()->epoch;
  if (image == nullptr) image = std::make_shared<const metadata::MetadataImage>(start);
  replayer_.emplace(std::move(image));
  return {};
}

Result<void> MetadataLog::open_log(storage::FilePool& files, bool clean, TimestampMs now) {
  BARNABAS_ASSIGN(const bool exists, disk_.exists(directory_));
  if (exists) BARNABAS_TRY(find_damage(disk_, directory_, snapshot_end(), clean));
  storage::Log::OpenOptions options;
  options.topic = "__cluster_metadata";
  options.topic_id = metadata_topic_id();
  options.config = log_config(settings_);
  options.recovery_point = snapshot_end();
  options.clean = clean;
  options.now = now;
  BARNABAS_ASSIGN(log_, storage::Log::open(disk_, files, directory_, std::move(options)));
  return {};
}

/// Whether snapshot and log together are all that was.
Result<void> MetadataLog::check_reach() const {
  const Offset from = log_->log_start_offset();
  const Offset end = snapshot_end();
  if (const auto& damaged = snapshots_.damaged()) {
    // The snapshot at offset 0 holds what a directory was formatted with, which need not stand in the log.
    const bool is_covered =
        damaged->id.end_offset > Offset{0} && from <= end && log_->log_end_offset() >= damaged->id.end_offset;
    if (!is_covered)
      return fail(
          ErrorKind::corrupt,
          damaged->what + "; the log has not all that was in it either. Restore the file from a copy");
  }
  const std::string begins = directory_ + ": the log begins at offset " + std::to_string(from.value());
  if (!snapshots_.newest() && from > Offset{0})
    return fail(ErrorKind::corrupt, begins + " and there is no snapshot of what was before");
  if (from > end)
    return fail(ErrorKind::corrupt,
                begins + " and the newest snapshot ends before, at " + std::to_string(end.value()));
  if (log_->log_end_offset() < end) return log_->truncate_fully_and_start_at(end);
  return {};
}

Result<void> MetadataLog::replay_log() {
  Offset next = std::max(snapshot_end(), log_->log_start_offset());
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

std::string MetadataLog::healed() const {
  std::string text;
  if (const auto& damaged = snapshots_.damaged())
    text = damaged->what + "; set aside, the log still has all that was in it";
  if (!log_->recovery().lossless())
    text += (text.empty() ? "" : ". ") + std::string("The end of the log was torn and is cut off: ") +
            log_->recovery().to_string();
  return text;
}

// --- appending
// ---------------------------------------------------------------------------------------------------

Result<void> MetadataLog::stage(const metadata::RecordList& records, LeaderEpoch epoch, TimestampMs now,
                                bool is_transaction) {
  protocol::RecordBatchOptions options;
  options.base_offset = next_offset();
  options.partition_leader_epoch = epoch;
  protocol::RecordBatchBuilder builder(options);
  for (std::size_t i = 0; i < records.size(); ++i) builder.append(now, std::nullopt, records[i]);
  const auto batch = builder.build();
  BARNABAS_TRY(replayer_->replay(protocol::RecordBatchView::trusted(batch)));
  for (std::size_t i = 0; i < records.size(); ++i) staged_.add_framed(records[i]);
  staged_transaction_ |= is_transaction;
  return {};
}

bool MetadataLog::fits_one_batch(const metadata::RecordList& records) const {
  return batch_bytes(records) <= settings_.batch_bytes;
}

bool MetadataLog::fits(const metadata::RecordList& records) const {
  return staged_.empty() || batch_bytes(staged_) + batch_bytes(records) <= settings_.batch_bytes;
}

Result<void> MetadataLog::commit(LeaderEpoch epoch, TimestampMs now) {
  const Offset end = log_->log_end_offset();
  const auto written = write_staged(epoch, now);
  staged_ = {};
  staged_transaction_ = false;
  if (!written) return take_back(end, written.error());
  BARNABAS_TRY(flush());
  committed_ = replayer_->image();
  return {};
}

/// Batches of a group that needs several are synced one by one: a crash can then have spoilt the last one
/// only, which is how a reader tells it from damage.
Result<void> MetadataLog::write_staged(LeaderEpoch epoch, TimestampMs now) {
  const std::size_t bytes_max =
      staged_transaction_ ? settings_.batch_bytes : std::numeric_limits<std::size_t>::max();
  std::size_t next = 0;
  while (next < staged_.size()) {
    if (next > 0) BARNABAS_TRY(flush());
    protocol::RecordBatchBuilder builder;
    std::size_t bytes = batch_overhead;
    do {
      builder.append(now, std::nullopt, staged_[next]);
      bytes += staged_[next].size() + record_overhead;
      ++next;
    } while (next < staged_.size() && bytes + staged_[next].size() + record_overhead <= bytes_max);
    BARNABAS_TRY(append_batch(builder.build(), epoch, now));
  }
  return {};
}

/// After a write that failed: what was staged has never been.
Result<void> MetadataLog::take_back(Offset end, Error error) {
  if (!is_refusal(error)) return std::unexpected(std::move(error));
  if (log_->log_end_offset() > end) BARNABAS_TRY(log_->truncate_to(end));
  replayer_.emplace(committed_);
  return std::unexpected(std::move(error));
}

Result<void> MetadataLog::append_batch(std::vector<std::byte> batch, LeaderEpoch epoch, TimestampMs now) {
  BARNABAS_TRY(log_->append_as_leader(batch, epoch, now, storage::AppendOrigin::raft_leader));
  last_epoch_ = epoch;
  bytes_since_snapshot_ += batch.size();
  return {};
}

Result<void> MetadataLog::commit_control(const std::vector<metadata::ControlRecord>& records,
                                         LeaderEpoch epoch, TimestampMs now) {
  BARNABAS_ASSERT(staged_.empty());
  protocol::RecordBatchOptions options;
  options.control = true;
  options.base_offset = next_offset();
  options.partition_leader_epoch = epoch;
  protocol::RecordBatchBuilder builder(options);
  for (const auto& record : records) builder.append(now, record.key, record.value);
  auto batch = builder.build();
  BARNABAS_TRY(append_batch(batch, epoch, now));
  BARNABAS_TRY(flush());
  return replayer_->replay(protocol::RecordBatchView::trusted(batch));
}

Result<void> MetadataLog::flush() {
  const auto flushed = log_->flush();
  if (flushed) return {};
  // Written, but not known to be durable: that the disk is full is no refusal any more.
  return fail(flushed.error().kind == ErrorKind::no_space ? ErrorKind::io : flushed.error().kind,
              flushed.error().message);
}

// --- snapshots and retention
// -------------------------------------------------------------------------------------

bool MetadataLog::snapshot_due() const {
  return bytes_since_snapshot_ >= settings_.snapshot_bytes || snapshot_wanted_;
}

Result<void> MetadataLog::write_snapshot(const metadata::MetadataImage& image, TimestampMs now) {
  BARNABAS_ASSERT(staged_.empty());
  if (image.position.offset + 1 > snapshot_end()) BARNABAS_TRY(snapshots_.write(image, now));
  bytes_since_snapshot_ = 0;
  snapshot_wanted_ = false;
  // A segment goes as a whole, and the active one never: a new one lets a later snapshot free what is in this
  // one.
  if (log_->segments().back().size_bytes >= settings_.snapshot_bytes) BARNABAS_TRY(log_->roll(now));
  return clean(now);
}

/// As Kafka does it: the oldest snapshot goes, with the log up to the next one, for as long as there is a
/// next one and the files are too many bytes or the snapshot is too old.
Result<void> MetadataLog::clean(TimestampMs now) {
  while (snapshots_.files().size() > 1) {
    const auto& oldest = snapshots_.files().front();
    const uint64_t bytes = log_->size_bytes() + snapshots_.size_bytes();
    const bool too_large =
        settings_.retention_bytes >= 0 && bytes > static_cast<uint64_t>(settings_.retention_bytes);
    const bool too_old = settings_.retention_ms >= 0 && now - oldest.last_contained > settings_.retention_ms;
    if (!too_large && !too_old) return {};
    BARNABAS_TRY(drop_segments_below(snapshots_.files()[1].id.end_offset, now));
    BARNABAS_TRY(snapshots_.remove_oldest());
  }
  return {};
}

Result<void> MetadataLog::drop_segments_below(Offset offset, TimestampMs now) {
  BARNABAS_TRY(log_->delete_records_before(offset));
  BARNABAS_TRY(log_->apply_retention(now, snapshot_end()));
  for (const auto& path : log_->take_deleted_files()) BARNABAS_TRY(disk_.remove(path));
  return {};
}

}  // namespace barnabas::cluster
