#include <algorithm>
#include <limits>

#include "storage/log_state.h"
#include "storage/producer_snapshot.h"

namespace barnabas::storage {
namespace {

constexpr uint64_t snapshot_bytes_max = 1 << 30;
/// How much log is walked through, at most, for batches that a snapshot had no room for.
constexpr uint64_t history_bytes_max = 64 << 20;

Result<std::vector<ProducerStateEntry>> read_snapshot(io::Disk& disk, const std::string& path) {
  BARNABAS_ASSIGN(const std::string content, io::read_file(disk, path, snapshot_bytes_max));
  return producer_snapshot::parse(as_byte_view(content));
}

}  // namespace

Result<void> LogState::load_producers() {
  if (producers) return {};
  auto loaded = std::make_unique<ProducerState>();
  Offset from = segments.front()->base_offset();
  while (!snapshots.empty()) {
    const std::string path = files->path(snapshots.back(), producer_snapshot_suffix);
    auto entries = read_snapshot(disk(), path);
    if (!entries && entries.error().kind == ErrorKind::io) return std::unexpected(std::move(entries).error());
    if (entries) {
      for (const ProducerStateEntry& entry : *entries) loaded->load(entry);
      from = snapshots.back();
      break;
    }
    // A power cut can leave one without its content; an older one and the log say the same.
    static_cast<void>(disk().remove(path).has_value());
    snapshots.pop_back();
  }
  producers = std::move(loaded);
  if (auto replayed = replay_producers(from, log_end.load()); !replayed) {
    producers.reset();
    return replayed;
  }
  note_undecided();
  return {};
}

void LogState::note_undecided() {
  const auto oldest = producers->oldest_undecided();
  std::lock_guard lock(mutex);
  undecided = oldest;
  maybe_unstable.store(oldest.has_value(), std::memory_order_release);
}

Result<void> LogState::rebuild_producers() {
  truncate_snapshots(log_end.load());
  const std::unique_ptr<ProducerState> before = std::move(producers);
  BARNABAS_TRY(load_producers());
  if (before) producers->keep_verifications_of(*before);
  return {};
}

Result<void> LogState::replay_producers(Offset from, Offset to) {
  if (from >= to) return {};
  for (std::size_t i = segment_index(from); i < segments.size() && segments[i]->base_offset() < to; ++i) {
    LogSegment& segment = *segments[i];
    BARNABAS_ASSIGN(const auto first, segment.find_batch(from, segment.size()));
    if (!first) continue;
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment.file());
    HeaderScanner scanner(*file, first->position, segment.size());
    while (true) {
      BARNABAS_ASSIGN(const std::optional<BatchAt> batch, scanner.next());
      if (!batch || batch->header.base_offset >= to) break;
      if (batch->header.has_producer_id()) BARNABAS_TRY(apply_to_producers(*file, *batch));
    }
  }
  return {};
}

Result<void> LogState::apply_to_producers(io::File& file, const BatchAt& batch) {
  if (!batch.header.is_control()) {
    producers->append(batch.header);
    return {};
  }
  BARNABAS_ASSIGN(const std::vector<std::byte> bytes, read_batch(file, batch.position, batch.end()));
  BARNABAS_ASSIGN(const auto marker, read_end_transaction_marker(protocol::RecordBatchView::trusted(bytes)));
  if (marker) producers->append_marker(batch.header, *marker);
  return {};
}

Result<void> LogState::complete_history(ProducerStateEntry& entry) {
  const ProducerBatch oldest_known = entry.batches[0];
  std::vector<ProducerBatch> found;  // newest first
  uint64_t budget = history_bytes_max;
  const std::size_t wanted = ProducerStateEntry::batches_max - entry.batch_count;
  for (std::size_t i = segment_index(oldest_known.last_offset) + 1;
       i-- > 0 && budget > 0 && found.size() < wanted;) {
    LogSegment& segment = *segments[i];
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment.file());
    uint64_t from = 0;
    if (segment.size() > budget) {
      BARNABAS_ASSIGN(const auto near, segment.batch_start_before(segment.size() - budget));
      HeaderScanner probe(*file, near.position, segment.size());
      if (near.fits(probe.next())) from = near.position;
    }
    budget -= std::min(budget, segment.size());
    HeaderScanner scanner(*file, from, segment.size());
    std::vector<ProducerBatch> here;
    while (true) {
      BARNABAS_ASSIGN(const std::optional<BatchAt> batch, scanner.next());
      if (!batch || batch->header.last_offset() >= oldest_known.last_offset) break;
      const protocol::RecordBatchHeader& header = batch->header;
      if (header.producer_id == entry.producer_id && header.producer_epoch == entry.epoch &&
          !header.is_control())
        here.push_back(
            {header.last_sequence(), header.last_offset_delta, header.last_offset(), header.max_timestamp});
    }
    found.insert(found.end(), here.rbegin(), here.rend());
  }
  ProducerStateEntry completed = entry;
  completed.batch_count = 0;
  found.resize(std::min(found.size(), wanted));
  for (auto batch = found.rbegin(); batch != found.rend(); ++batch) completed.add_batch(entry.epoch, *batch);
  for (const ProducerBatch& batch : entry.known_batches()) completed.add_batch(entry.epoch, batch);
  completed.last_timestamp = entry.last_timestamp;
  completed.history_complete = true;
  entry = completed;
  return {};
}

Offset Log::last_stable_offset(Offset high_watermark) {
  LogState& log = *state_;
  if (!log.maybe_unstable.load(std::memory_order_acquire)) return high_watermark;
  const auto below = [&](Offset unstable) {
    return std::min(high_watermark, std::max(unstable, log.log_start.load()));
  };
  {
    std::lock_guard lock(log.mutex);
    const auto& oldest = log.undecided;
    if (oldest && (oldest->marker == no_offset || oldest->marker >= high_watermark))
      return below(oldest->first_offset);
  }
  std::lock_guard lock(log.append_mutex);
  // When the state cannot be read, nothing is known to be decided above the log start.
  if (!log.load_producers()) return std::min(high_watermark, log.log_start.load());
  const auto unstable = log.producers->first_unstable_offset(high_watermark);
  log.note_undecided();
  return unstable ? below(*unstable) : high_watermark;
}

Result<VerificationGuard> Log::begin_verification(const TransactionBegin& batch, VerificationGuard fresh,
                                                  TimestampMs now) {
  std::lock_guard lock(state_->append_mutex);
  BARNABAS_TRY(state_->check_writable());
  BARNABAS_TRY(state_->load_producers());
  return state_->producers->begin_verification(batch, fresh, now);
}

void Log::refuse_verification(ProducerId id, VerificationGuard guard) {
  std::lock_guard lock(state_->append_mutex);
  if (state_->producers) state_->producers->refuse_verification(id, guard);
}

std::vector<ProducerStateEntry> Log::producers() {
  std::lock_guard lock(state_->append_mutex);
  if (!state_->load_producers()) return {};
  return state_->producers->entries();
}

void Log::expire_producers(TimestampMs now) {
  std::lock_guard lock(state_->append_mutex);
  // Nobody has asked for them yet: they expire from the snapshot when they are loaded and this comes again.
  if (!state_->producers) return;
  state_->producers->expire(now, state_->config->producer_id_expiration_ms);
}

}  // namespace barnabas::storage
