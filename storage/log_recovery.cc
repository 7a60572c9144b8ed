#include <algorithm>

#include "storage/log_state.h"
#include "storage/producer_snapshot.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {
namespace {

constexpr uint64_t epoch_checkpoint_bytes_max = 64 << 20;

void note_in_cache(LeaderEpochCache& epochs, LeaderEpoch epoch, Offset start) {
  const auto latest = epochs.latest();
  if (epoch >= LeaderEpoch{0} && (!latest || epoch > latest->epoch)) epochs.assign(epoch, start);
}

/// Walks over one segment that a crash may have torn and makes again what is derived from it.
class SegmentRecovery {
 public:
  SegmentRecovery(LogState& log, LogSegment& segment) : log_(log), segment_(segment) {}

  /// Returns where its last good batch ends. `size` is that of the file.
  Result<Offset> run(uint64_t size) {
    BARNABAS_TRY(segment_.begin_rebuild());
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment_.file());
    BatchVerifier verifier(*file, segment_.base_offset(), size);
    while (true) {
      BARNABAS_ASSIGN(const auto batch, verifier.next());
      if (!batch) break;
      BARNABAS_TRY(take(*batch, verifier.position()));
    }
    const uint64_t good = verifier.position();
    log_.recovery.scanned_bytes += size;
    if (good < size) {
      damage_ = verifier.damage();
      log_.recovery.truncated_bytes += size - good;
      BARNABAS_TRY(file->truncate(good));
      // At once: if nothing is left, no flush will find anything to sync, and a clean stop would vouch for
      // the damage.
      BARNABAS_TRY(file->sync_data());
    }
    segment_.set_size(good);
    // On a full disk the index entries stay in memory: that it is full must not keep what is there from being
    // read.
    if (auto finished = segment_.finish_indexes(); !finished && finished.error().kind != ErrorKind::no_space)
      return std::unexpected(std::move(finished).error());
    segment_.set_may_have_aborted(!aborted_.empty());
    BARNABAS_TRY(transaction_index::write(log_.disk(), segment_.path(transaction_index_suffix), aborted_));
    return verifier.next_offset();
  }

  /// Empty: every byte was good.
  const std::string& damage() const { return damage_; }

 private:
  Result<void> take(const protocol::RecordBatchView& batch, uint64_t position) {
    const protocol::RecordBatchHeader header = batch.header();
    segment_.note_batch(header, position, log_.config->index_interval_bytes);
    segment_.write_full_index_tails();
    note_in_cache(log_.epochs, header.partition_leader_epoch, header.base_offset);
    if (!header.has_producer_id()) return {};
    if (!header.is_control()) {
      log_.producers->append(header);
      return {};
    }
    BARNABAS_ASSIGN(const auto marker, read_end_transaction_marker(batch));
    if (!marker) return {};
    const auto completed = log_.producers->append_marker(header, *marker);
    if (completed && completed->aborted)
      aborted_.push_back({completed->producer_id, completed->first_offset, completed->last_offset,
                          log_.producers->stable_offset_after(*completed)});
    return {};
  }

  LogState& log_;
  LogSegment& segment_;
  std::vector<AbortedTransaction> aborted_;
  std::string damage_;
};

// Segments from `first` on go: they lie behind damage, or do not follow on what is before them.
Result<void> drop_segments(LogState& log, std::size_t first) {
  for (std::size_t i = first; i < log.segments.size(); ++i) {
    log.recovery.truncated_bytes += log.segments[i]->size();
    ++log.recovery.segments_removed;
  }
  return log.delete_segments(first, log.segments.size() - first);
}

void note_damage(LogState& log, Offset end, const std::string& reason) {
  log.recovery.truncated_at = end;
  log.recovery.reason = reason;
}

// Whether the next segment can follow. Compaction leaves gaps, a lost write before the recovery point is
// impossible; any other gap is a write that a power cut has lost, behind which nothing may stay.
bool follows(const LogState& log, Offset end, Offset next_base, Offset recovery_point) {
  return next_base == end ||
         (next_base > end && (log.config->cleanup_compact || next_base <= recovery_point));
}

}  // namespace

Result<LeaderEpochCache> read_epochs(LogState& log, std::size_t segments) {
  auto text =
      io::read_file(log.disk(), log.files->path(leader_epoch_checkpoint_name), epoch_checkpoint_bytes_max);
  if (!text && text.error().kind == ErrorKind::io) return std::unexpected(std::move(text).error());
  if (text) {
    if (auto epochs = LeaderEpochCache::parse(*text)) return *epochs;
  }
  LeaderEpochCache epochs;
  for (std::size_t i = 0; i < segments; ++i) {
    LogSegment& segment = *log.segments[i];
    if (segment.size() == 0) continue;
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment.file());
    HeaderScanner scanner(*file, 0, segment.size());
    while (true) {
      BARNABAS_ASSIGN(const auto batch, scanner.next());
      if (!batch) break;
      note_in_cache(epochs, batch->header.partition_leader_epoch, batch->header.base_offset);
    }
  }
  return epochs;
}

Result<void> recover(LogState& log, Offset recovery_point) {
  log.recovery.scanned = true;
  log.changed_since_open = true;
  // When a segment ends just at the recovery point its batches are safe, its indexes need not be.
  std::size_t i = log.segment_index(std::max(recovery_point, Offset{1}) - 1);
  for (std::size_t k = 0; k < i; ++k) log.segments[k]->assume_synced();
  const Offset scan_base = log.segments[i]->base_offset();
  // Producer state below the scanned part; snapshots above it are made again.
  log.truncate_snapshots(scan_base);
  log.log_end.store(scan_base);
  BARNABAS_TRY(log.load_producers());
  BARNABAS_ASSIGN(log.epochs, read_epochs(log, i));
  log.epochs_loaded = log.epochs_dirty = true;

  Offset end = scan_base;
  for (; i < log.segments.size(); ++i) {
    const std::shared_ptr<LogSegment> segment = log.segments[i];
    if (segment->base_offset() > scan_base) {
      auto written = log.write_snapshot(segment->base_offset());
      if (!written && written.error().kind != ErrorKind::no_space) return written;
    }
    SegmentRecovery recovery(log, *segment);
    BARNABAS_ASSIGN(end, recovery.run(segment->size()));
    const bool is_last = i + 1 == log.segments.size();
    if (!recovery.damage().empty()) note_damage(log, end, recovery.damage());
    if (is_last) break;
    const Offset next_base = log.segments[i + 1]->base_offset();
    const bool gap = !follows(log, end, next_base, recovery_point);
    if (recovery.damage().empty() && !gap) continue;
    if (recovery.damage().empty())
      note_damage(log, end,
                  segment->path(log_suffix) + ": ends at offset " + std::to_string(end.value()) +
                      ", the next segment begins at " + std::to_string(next_base.value()));
    BARNABAS_TRY(drop_segments(log, i + 1));
    break;
  }
  log.log_end.store(end);
  log.recovery_point.store(std::min(recovery_point, end));
  log.truncate_snapshots(end);
  log.epochs.truncate_from_end(end);
  // The last run may have died between making names and syncing them.
  log.metadata_dirty = log.directory_dirty = log.parent_dirty = true;
  log.note_undecided();
  return {};
}

}  // namespace barnabas::storage
