#include <algorithm>

#include "base/assert.h"
#include "storage/log_state.h"
#include "storage/retention.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {
namespace {

std::string describe(const RetentionPlan& plan, const LogConfig& config) {
  switch (plan.reason) {
    case RetentionPlan::Reason::log_start_offset:
      return "they lie below the log start offset";
    case RetentionPlan::Reason::size:
      return "retention.bytes is " + std::to_string(config.retention_bytes);
    case RetentionPlan::Reason::time:
      return "retention.ms is " + std::to_string(config.retention_ms);
    case RetentionPlan::Reason::none:
      break;
  }
  return {};
}

// With append_mutex held. Timestamps are looked up only as far as they can matter.
Result<std::vector<RetentionSegment>> retention_facts(LogState& log, TimestampMs now) {
  std::vector<RetentionSegment> facts;
  facts.reserve(log.segments.size());
  bool look_up = log.config->cleanup_delete && log.config->retention_ms >= 0;
  for (std::size_t i = 0; i < log.segments.size(); ++i) {
    LogSegment& segment = *log.segments[i];
    const bool is_active = i + 1 == log.segments.size();
    RetentionSegment fact{.next_offset = is_active ? log.log_end.load() : log.segments[i + 1]->base_offset(),
                          .size_bytes = segment.size(),
                          .largest_timestamp = now};
    // Compaction has left nothing of it: it must not keep what follows from growing old.
    if (!is_active && fact.size_bytes == 0) fact.largest_timestamp = no_timestamp;
    if (look_up && fact.size_bytes != 0) {
      BARNABAS_ASSIGN(const auto max, segment.max_timestamp());
      fact.largest_timestamp = max.timestamp >= TimestampMs{0} ? max.timestamp : segment.created();
      // Nothing newer goes by time.
      look_up = now - fact.largest_timestamp > log.config->retention_ms;
    }
    facts.push_back(fact);
  }
  return facts;
}

}  // namespace

// With append_mutex held. One by one, so that a crash in between leaves no hole: from the front when the
// oldest go, from the back when the newest do.
Result<void> LogState::delete_segments(std::size_t first, std::size_t count) {
  BARNABAS_ASSERT(count < segments.size());
  const bool from_front = first == 0;
  for (; count > 0; --count) {
    const std::size_t at = from_front ? 0 : first + count - 1;
    const std::shared_ptr<LogSegment> segment = segments[at];
    BARNABAS_ASSIGN(const std::vector<std::string> renamed, segment->mark_deleted());
    std::lock_guard lock(mutex);
    segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(at));
    // At once: a reader of an offset that has just gone must not be given what follows it.
    if (from_front) log_start.store(std::max(log_start.load(), segments.front()->base_offset()));
    ++generation;
    deleted_files.insert(deleted_files.end(), renamed.begin(), renamed.end());
    directory_dirty = true;
    note_change();
  }
  return {};
}

namespace {

// With append_mutex held: which segments go; if the active one is among them, a new one is begun.
Result<RetentionPlan> prepare_retention(LogState& log, TimestampMs now, Offset high_watermark,
                                        std::vector<RetentionSegment>& facts) {
  BARNABAS_TRY(log.check_writable());
  BARNABAS_ASSIGN(facts, retention_facts(log, now));
  RetentionPlan plan = plan_retention(facts, *log.config, log.log_start.load(), high_watermark, now);
  if (plan.segments < log.segments.size()) return plan;
  BARNABAS_TRY(log.active().prepare_append());
  auto rolled = log.roll(log.log_end.load(), now);
  // On a full disk the others must go all the same.
  if (!rolled && rolled.error().kind != ErrorKind::no_space)
    return std::unexpected(std::move(rolled).error());
  if (!rolled) --plan.segments;
  return plan;
}

}  // namespace

Result<RetentionResult> Log::apply_retention(TimestampMs now, Offset high_watermark) {
  LogState& log = *state_;
  std::lock_guard exclusive(log.segments_mutex);
  std::vector<RetentionSegment> facts;
  {
    std::lock_guard lock(log.append_mutex);
    BARNABAS_ASSIGN(const RetentionPlan plan, prepare_retention(log, now, high_watermark, facts));
    if (plan.segments == 0) return RetentionResult{};
  }
  // What replaces the segments, the producer snapshots above them, must be safe before they go.
  if (auto flushed = flush(); !flushed && flushed.error().kind != ErrorKind::no_space)
    return std::unexpected(std::move(flushed).error());

  std::lock_guard lock(log.append_mutex);
  BARNABAS_ASSIGN(RetentionPlan plan, prepare_retention(log, now, high_watermark, facts));
  plan.segments = std::min(plan.segments, log.segments.size() - 1);
  if (plan.segments == 0) return RetentionResult{};
  RetentionResult result{.segments_deleted = static_cast<int>(plan.segments),
                         .reason = describe(plan, *log.config)};
  for (std::size_t i = 0; i < plan.segments; ++i) result.bytes_deleted += facts[i].size_bytes;
  BARNABAS_TRY(log.delete_segments(0, plan.segments));
  {
    std::lock_guard state_lock(log.mutex);
    log.load_epochs();
    const Offset start = std::max(log.log_start.load(), log.segments.front()->base_offset());
    log.log_start.store(start);
    if (log.epochs.truncate_from_start(start)) log.epochs_dirty = true;
  }
  if (log.producers) log.producers->log_start_moved(log.log_start.load());
  log.changed_since_open = true;
  BARNABAS_TRY(log.remove_stray_snapshots());
  return result;
}

Result<Offset> Log::delete_records_before(Offset offset) {
  LogState& log = *state_;
  std::lock_guard lock(log.append_mutex);
  BARNABAS_TRY(log.check_writable());
  if (offset > log.log_end.load())
    return fail(ErrorKind::out_of_range, "records up to " + std::to_string(offset.value()) +
                                             " cannot be deleted, the log end is " +
                                             std::to_string(log.log_end.load().value()));
  if (offset <= log.log_start.load()) return log.log_start.load();
  {
    std::lock_guard state_lock(log.mutex);
    log.load_epochs();
    log.log_start.store(offset);
    if (log.epochs.truncate_from_start(offset)) log.epochs_dirty = true;
  }
  log.note_change();
  if (log.producers) log.producers->log_start_moved(offset);
  return offset;
}

std::vector<std::string> Log::take_deleted_files() {
  std::lock_guard lock(state_->mutex);
  return std::exchange(state_->deleted_files, {});
}

namespace {

// With flush_mutex and append_mutex held. An error leaves the log half cut: broken.
Result<void> cut(LogState& log, Offset offset) {
  std::size_t keep = 0;
  {
    std::lock_guard lock(log.mutex);
    log.load_epochs();
    keep = log.segment_index(offset);
    log.log_end.store(offset);
    log.log_start.store(std::min(log.log_start.load(), offset));
    log.recovery_point.store(std::min(log.recovery_point.load(), offset));
    log.known_positions.clear();
    ++log.generation;
    if (log.epochs.truncate_from_end(offset)) log.epochs_dirty = true;
    const auto latest = log.epochs.latest();
    log.latest_epoch.store(latest ? latest->epoch : no_leader_epoch);
    log.directory_dirty = true;
  }
  log.note_change();
  log.changed_since_open = true;
  log.note_truncation(offset);
  if (keep + 1 < log.segments.size()) {
    BARNABAS_TRY(log.delete_segments(keep + 1, log.segments.size() - keep - 1));
    // Were the cut below to survive a power cut and this not, there would be a hole.
    BARNABAS_TRY(log.disk().sync_directory(log.files->directory()));
  }
  LogSegment& segment = log.active();
  BARNABAS_ASSIGN(const auto first_gone, segment.find_batch(offset, segment.size()));
  BARNABAS_TRY(segment.truncate(first_gone ? first_gone->position : segment.size()));
  const std::string transactions_path = segment.path(transaction_index_suffix);
  BARNABAS_ASSIGN(std::vector<AbortedTransaction> aborted, segment.aborted_transactions());
  if (std::erase_if(aborted, [&](const AbortedTransaction& item) { return item.last_offset >= offset; }) != 0)
    BARNABAS_TRY(transaction_index::write(log.disk(), transactions_path, aborted));
  return log.rebuild_producers();
}

}  // namespace

Result<void> LogState::start_anew(Offset offset, TimestampMs now) {
  std::vector<std::string> renamed;
  for (std::size_t i = segments.size(); i-- > 0;) {
    BARNABAS_ASSIGN(std::vector<std::string> names, segments[i]->mark_deleted());
    renamed.insert(renamed.end(), names.begin(), names.end());
  }
  truncate_snapshots(no_offset);
  BARNABAS_ASSIGN(std::shared_ptr<LogSegment> segment, LogSegment::create(files, offset, now));
  BARNABAS_TRY(disk().sync_directory(files->directory()));
  producers = std::make_unique<ProducerState>();
  maybe_unstable.store(false);
  changed_since_open = true;
  note_truncation(offset);
  std::lock_guard lock(mutex);
  segments.clear();
  segments.push_back(std::move(segment));
  deleted_files.insert(deleted_files.end(), renamed.begin(), renamed.end());
  log_start.store(offset);
  log_end.store(offset);
  recovery_point.store(std::min(recovery_point.load(), offset));
  epochs.clear();
  epochs_loaded = epochs_dirty = directory_dirty = true;
  latest_epoch.store(no_leader_epoch);
  known_positions.clear();
  ++generation;
  note_change();
  return {};
}

Result<void> Log::truncate_to(Offset offset) {
  LogState& log = *state_;
  std::lock_guard exclusive(log.segments_mutex);
  std::lock_guard flush_lock(log.flush_mutex);
  std::lock_guard lock(log.append_mutex);
  BARNABAS_TRY(log.check_writable());
  if (offset >= log.log_end.load()) return {};
  auto done = offset < log.segments.front()->base_offset() ? log.start_anew(offset, log.active().created())
                                                           : cut(log, offset);
  if (!done) return log.broken_by(std::move(done).error());
  return {};
}

Result<void> Log::truncate_fully_and_start_at(Offset offset) {
  LogState& log = *state_;
  std::lock_guard exclusive(log.segments_mutex);
  std::lock_guard flush_lock(log.flush_mutex);
  std::lock_guard lock(log.append_mutex);
  BARNABAS_TRY(log.check_writable());
  if (auto done = log.start_anew(offset, log.active().created()); !done)
    return log.broken_by(std::move(done).error());
  return {};
}

}  // namespace barnabas::storage
