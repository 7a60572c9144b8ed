#include "storage/log_compaction.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "storage/cleaner_input.h"
#include "storage/log_state.h"
#include "storage/producer_snapshot.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {
namespace {

using protocol::RecordBatchHeader;
using protocol::RecordBatchView;
using SegmentPtr = std::shared_ptr<LogSegment>;

/// No honest batch has so many records; one that says so is not taken apart, which would want memory for
/// each.
constexpr int32_t records_taken_apart_max = 1 << 24;

Result<std::optional<EndTransactionMarker>> marker_of(const RecordBatchView& batch) {
  if (!batch.is_control()) return std::nullopt;
  return read_end_transaction_marker(batch);
}

/// Puts the keys of a batch into the map.
class KeyCollector final : public protocol::KeyVisitor {
 public:
  KeyCollector(OffsetMap& keys, KeyHasher& hasher, Offset from) : keys_(keys), hasher_(hasher), from_(from) {}

  void key(ByteView piece) override { hasher_.add(piece); }
  bool record(const protocol::RecordFacts& record) override {
    const KeyHash hash = hasher_.finish();
    if (!record.has_key || record.offset < from_) return true;
    if (keys_.put(hash, record.offset)) return true;
    full_at_ = record.offset;
    return false;
  }
  /// The first record that had no room.
  std::optional<Offset> full_at() const { return full_at_; }

 private:
  OffsetMap& keys_;
  KeyHasher& hasher_;
  const Offset from_;
  std::optional<Offset> full_at_;
};

/// Decides on the records of a batch.
class Sieve final : public protocol::KeyVisitor {
 public:
  Sieve(const OffsetMap& keys, KeyHasher& hasher, const RecordBatchHeader& batch, const CleaningRound& round)
      : keys_(keys), hasher_(hasher), batch_(batch), round_(round) {
    kept.reserve(static_cast<std::size_t>(std::clamp(batch.record_count, 0, 1 << 16)));
  }

  void key(ByteView piece) override { hasher_.add(piece); }
  bool record(const protocol::RecordFacts& record) override {
    const KeyHash hash = hasher_.finish();
    const bool stays = record_stays(record, record.has_key ? keys_.get(hash) : std::nullopt, batch_, round_);
    kept.push_back(stays);
    kept_count += stays ? 1 : 0;
    has_tombstones = has_tombstones || (stays && !record.has_value);
    return true;
  }

  std::vector<bool> kept;
  std::size_t kept_count = 0;
  bool has_tombstones = false;

 private:
  const OffsetMap& keys_;
  KeyHasher& hasher_;
  const RecordBatchHeader& batch_;
  const CleaningRound& round_;
};

/// The segment that a group of others becomes, while it is being written.
class CleanedSegment {
 public:
  /// `bytes_to_come` bounds what the group has, so that positions stay within their 31 bits.
  CleanedSegment(LogState& log, SegmentPtr segment, int32_t index_interval_bytes, std::size_t buffer_bytes)
      : log_(log),
        segment_(std::move(segment)),
        index_interval_bytes_(index_interval_bytes),
        buffer_bytes_(buffer_bytes) {}

  const SegmentPtr& segment() const { return segment_; }
  uint64_t size() const { return segment_->size() + buffer_.size(); }
  bool buffer_full() const { return buffer_.size() >= buffer_bytes_; }

  void add(ByteView batch) {
    segment_->note_batch(RecordBatchView::trusted(batch).header(), size(), index_interval_bytes_);
    buffer_.insert(buffer_.end(), batch.begin(), batch.end());
  }
  Result<void> write_out() {
    if (buffer_.empty()) return {};
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment_->file());
    BARNABAS_TRY(file->write_at(ByteView(buffer_), segment_->size()));
    segment_->set_size(size_after_write());
    buffer_.clear();
    segment_->write_full_index_tails();
    return {};
  }

  std::vector<AbortedTransaction> still_aborted;

  /// Writes everything there is and makes it durable, but for the names.
  Result<void> finish() {
    BARNABAS_TRY(write_out());
    BARNABAS_TRY(segment_->finish_indexes());
    if (!still_aborted.empty()) {
      segment_->set_may_have_aborted(true);
      BARNABAS_TRY(
          transaction_index::write(log_.disk(), segment_->path(transaction_index_suffix), still_aborted));
    }
    return segment_->sync(/*with_indexes=*/true);
  }

  /// Takes away what was made of it, as far as that can be done: opening the log does the rest.
  void discard() {
    segment_->release_files();
    for (std::string_view suffix :
         {log_suffix, offset_index_suffix, time_index_suffix, transaction_index_suffix}) {
      for (std::string_view ending : {cleaned_suffix, swap_suffix}) {
        const std::string path =
            log_.files->path(segment_->base_offset(), std::string(suffix).append(ending));
        static_cast<void>(log_.disk().remove(path).has_value());
      }
    }
  }

 private:
  uint64_t size_after_write() const { return segment_->size() + buffer_.size(); }

  LogState& log_;
  const SegmentPtr segment_;
  const int32_t index_interval_bytes_;
  const std::size_t buffer_bytes_;
  std::vector<std::byte> buffer_;
};

/// One pass over a log: learn the newest offset of each key in the dirty part, then write all segments up to
/// there anew, a group at a time.
class Pass {
 public:
  Pass(LogState& log, const CleaningNeed& need, CleaningTools& tools, TimestampMs now)
      : log_(log), need_(need), tools_(tools) {
    round_.now = now;
    round_.end = need.first_uncleanable;
  }

  Result<CleaningResult> run() {
    BARNABAS_TRY(take_segments());
    if (segments_.empty() || need_.first_dirty >= need_.first_uncleanable) return result_;
    tools_.keys.clear();
    auto done = learn_keys();
    result_.keys = tools_.keys.size();
    if (done && *done) done = clean_groups();
    tools_.keys.clear();
    if (!done) return failed(std::move(done).error());
    if (!*done || !remember()) result_.interrupted = true;
    return result_;
  }

 private:
  Result<void> take_segments() {
    std::lock_guard lock(log_.append_mutex);
    BARNABAS_TRY(log_.check_writable());
    config_ = log_.config;
    round_.delete_retention_ms = config_->delete_retention_ms;
    truncations_ = log_.truncations;
    for (std::size_t i = 0; i + 1 < log_.segments.size(); ++i) {
      if (log_.segments[i + 1]->base_offset() > need_.first_uncleanable) break;
      segments_.push_back(log_.segments[i]);
      ends_.push_back(log_.segments[i + 1]->base_offset());
    }
    return {};
  }

  // An error because the ground was taken away is none.
  Result<CleaningResult> failed(Error error) {
    if (log_.broken.load() || (!log_.closed.load() && on_firm_ground()))
      return std::unexpected(std::move(error));
    result_.interrupted = true;
    return result_;
  }
  // Whether the segments that are being read are those of the log: the oldest go first.
  bool on_firm_ground() {
    std::lock_guard lock(log_.append_mutex);
    return log_.truncations == truncations_ &&
           (segments_.empty() || std::ranges::find(log_.segments, segments_[group_]) != log_.segments.end());
  }
  bool remember() {
    std::lock_guard lock(log_.append_mutex);
    if (log_.truncations != truncations_) return false;
    log_.cleaned_to = round_.mapped_to;
    result_.cleaned_to = round_.mapped_to;
    return true;
  }

  bool go_on(uint64_t bytes) {
    return !log_.closed.load(std::memory_order_acquire) && !log_.broken.load() && tools_.go_on(bytes);
  }
  CleanerInput input(io::File& file, std::size_t segment, uint64_t from) {
    // Relative to its segment every offset has 31 bits.
    const Offset base = segments_[segment]->base_offset();
    const Offset end = std::min(ends_[segment], base + (int64_t{std::numeric_limits<int32_t>::max()} + 1));
    return CleanerInput(file, {from, segments_[segment]->size(), base, end}, tools_.read_buffer_bytes,
                        static_cast<std::size_t>(std::max(config_->max_message_bytes, 0)));
  }
  bool took(CleanerInput& from) {
    const uint64_t bytes = from.take_bytes_read();
    result_.bytes_read += bytes;
    return bytes == 0 || go_on(bytes);
  }
  Result<void> add_aborted(CleanedTransactions& transactions, Offset from, Offset to) {
    BARNABAS_ASSIGN(const std::vector<AbortedTransaction> aborted, aborted_transactions(log_, from, to));
    for (const AbortedTransaction& one : aborted) transactions.add(one);
    return {};
  }

  // --- the newest offset of each key ---

  Result<bool> learn_keys() {
    CleanedTransactions transactions;
    BARNABAS_TRY(add_aborted(transactions, need_.first_dirty, need_.first_uncleanable));
    round_.mapped_to = need_.first_dirty;
    for (std::size_t i = 0; i < segments_.size() && !result_.map_was_full; ++i) {
      if (ends_[i] <= need_.first_dirty) continue;
      BARNABAS_ASSIGN(const bool go, learn_segment(i, transactions));
      if (!go) return false;
      if (!result_.map_was_full) round_.mapped_to = ends_[i];
    }
    return true;
  }

  Result<bool> learn_segment(std::size_t index, CleanedTransactions& transactions) {
    LogSegment& segment = *segments_[index];
    BARNABAS_ASSIGN(const auto first, segment.find_batch(need_.first_dirty, segment.size()));
    if (!first) return true;
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment.file());
    CleanerInput batches = input(*file, index, first->position);
    while (true) {
      BARNABAS_ASSIGN(const std::optional<RecordBatchView> batch, batches.next());
      if (!took(batches)) return false;
      if (!batch) return true;
      const RecordBatchHeader header = batch->header();
      if (header.is_control()) {
        BARNABAS_ASSIGN(const auto marker, marker_of(*batch));
        std::vector<AbortedTransaction> ignored;
        transactions.read_control(header, marker, ignored);
        continue;
      }
      if (transactions.read_data(header)) continue;
      KeyCollector collector(tools_.keys, hasher_, need_.first_dirty);
      if (auto visited = visit_keys(*batch, collector); !visited)
        return fail(place(*file, header), std::move(visited).error());
      if (const auto full_at = collector.full_at()) {
        if (tools_.keys.size() == 0) return fail(ErrorKind::no_space, "no memory for the key map");
        // Not at the start of the batch: a batch with more keys than the map has slots must come through,
        // too.
        round_.mapped_to = *full_at;
        result_.map_was_full = true;
        return true;
      }
    }
  }

  static std::string place(const io::File& file, const RecordBatchHeader& batch) {
    return file.path() + ", batch at offset " + std::to_string(batch.base_offset.value());
  }

  // --- writing anew ---

  Result<bool> clean_groups() {
    while (!segments_.empty() && segments_.back()->base_offset() >= round_.mapped_to) {
      segments_.pop_back();
      ends_.pop_back();
    }
    if (segments_.empty()) return true;
    std::vector<GroupingSegment> facts;
    for (const SegmentPtr& segment : segments_) {
      BARNABAS_ASSIGN(const auto index, segment->index_bytes());
      facts.push_back({segment->base_offset(), segment->size(), index.offsets, index.times});
    }
    std::size_t first = 0;
    for (const std::size_t count : group_segments(facts, ends_.back(), *config_)) {
      BARNABAS_ASSIGN(const bool go, clean_group(first, count));
      if (!go) return false;
      first += count;
    }
    return true;
  }

  Result<bool> clean_group(std::size_t first, std::size_t count) {
    group_ = first;
    {
      std::lock_guard lock(log_.append_mutex);
      BARNABAS_TRY(log_.load_producers());
      last_records_ = last_records(log_.producers->entries());
    }
    BARNABAS_ASSIGN(SegmentPtr made,
                    LogSegment::create(log_.files, segments_[first]->base_offset(),
                                       segments_[first + count - 1]->created(), SegmentNames::cleaned));
    CleanedSegment cleaned(log_, std::move(made), config_->index_interval_bytes, tools_.write_buffer_bytes);
    auto done = fill_group(cleaned, first, count);
    if (!done || !*done) {
      cleaned.discard();
      return done;
    }
    return replace_group(cleaned, first, count);
  }

  // Whether it was not told to stop.
  Result<bool> fill_group(CleanedSegment& cleaned, std::size_t first, std::size_t count) {
    changed_ = count > 1;
    bytes_to_come_ = 0;
    for (std::size_t i = first; i < first + count; ++i) bytes_to_come_ += segments_[i]->size();
    result_.bytes_before += bytes_to_come_;
    for (std::size_t i = first; i < first + count; ++i) {
      BARNABAS_TRY(add_aborted(transactions_, segments_[i]->base_offset(), ends_[i]));
      BARNABAS_ASSIGN(const bool go, clean_into(cleaned, i));
      if (!go) return false;
    }
    result_.segments_before += count;
    ++result_.segments_after;
    result_.bytes_after += cleaned.size();
    return true;
  }

  Result<bool> replace_group(CleanedSegment& cleaned, std::size_t first, std::size_t count) {
    if (!changed_) {
      cleaned.discard();
      return true;
    }
    const auto rest = cleaned.size() - cleaned.segment()->size();
    auto finished = cleaned.finish();
    if (finished && !replaced_) finished = tools_.before_replacing();
    if (!finished) {
      cleaned.discard();
      return std::unexpected(std::move(finished).error());
    }
    result_.bytes_written += rest;
    const std::vector<SegmentPtr> old(segments_.begin() + static_cast<std::ptrdiff_t>(first),
                                      segments_.begin() + static_cast<std::ptrdiff_t>(first + count));
    auto replaced = log_.replace_segments(old, cleaned.segment(), truncations_);
    // Half way through, the new segment is all there is; opening the log finishes what was begun.
    if (replaced ? !*replaced : !log_.broken.load()) cleaned.discard();
    replaced_ = replaced_ || (replaced && *replaced);
    return replaced;
  }

  Result<bool> clean_into(CleanedSegment& cleaned, std::size_t index) {
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segments_[index]->file());
    CleanerInput batches = input(*file, index, 0);
    while (true) {
      BARNABAS_ASSIGN(const std::optional<RecordBatchView> batch, batches.next());
      if (!took(batches)) return false;
      if (!batch) return true;
      bytes_to_come_ -= batch->size_bytes();
      if (auto taken = take(cleaned, *batch); !taken)
        return fail(place(*file, batch->header()), std::move(taken).error());
      if (!cleaned.buffer_full()) continue;
      const auto bytes = cleaned.size() - cleaned.segment()->size();
      BARNABAS_TRY(cleaned.write_out());
      result_.bytes_written += bytes;
      if (!go_on(bytes)) return false;
    }
  }

  Result<void> take(CleanedSegment& cleaned, const RecordBatchView& batch) {
    const RecordBatchHeader header = batch.header();
    BARNABAS_ASSIGN(const auto marker, marker_of(batch));
    const bool discardable = header.is_control()
                                 ? transactions_.read_control(header, marker, cleaned.still_aborted)
                                 : transactions_.read_data(header);
    const BatchVerdict verdict = judge_batch(header, discardable, last_records_, round_);
    if (header.record_count == 0 || verdict.drops_all_records) {
      take_empty(cleaned, batch, verdict);
      return {};
    }
    if (header.is_control()) return take_control(cleaned, batch, verdict);
    if (header.base_offset >= round_.mapped_to || header.record_count > records_taken_apart_max) {
      cleaned.add(batch.bytes());
      return {};
    }
    return take_data(cleaned, batch, verdict);
  }

  void take_empty(CleanedSegment& cleaned, const RecordBatchView& batch, const BatchVerdict& verdict) {
    const bool was_empty = batch.record_count() == 0;
    changed_ = changed_ || !was_empty || !verdict.stays_when_empty;
    if (!verdict.stays_when_empty) return;
    if (was_empty)
      cleaned.add(batch.bytes());
    else
      cleaned.add(emptied_batch(batch));
  }

  Result<void> take_control(CleanedSegment& cleaned, const RecordBatchView& batch,
                            const BatchVerdict& verdict) {
    if (!verdict.gets_horizon) {
      cleaned.add(batch.bytes());
      return {};
    }
    const std::vector<bool> all(static_cast<std::size_t>(std::max(batch.record_count(), 0)), true);
    return add_filtered(cleaned, batch, all, new_delete_horizon(round_));
  }

  Result<void> take_data(CleanedSegment& cleaned, const RecordBatchView& batch, const BatchVerdict& verdict) {
    const RecordBatchHeader header = batch.header();
    Sieve sieve(tools_.keys, hasher_, header, round_);
    BARNABAS_TRY(visit_keys(batch, sieve));
    if (sieve.kept_count == 0) {
      take_empty(cleaned, batch, verdict);
      return {};
    }
    const bool gets_horizon = sieve.has_tombstones && !header.delete_horizon();
    if (sieve.kept_count == sieve.kept.size() && !gets_horizon) {
      cleaned.add(batch.bytes());
      return {};
    }
    return add_filtered(cleaned, batch, sieve.kept,
                        gets_horizon ? std::optional(new_delete_horizon(round_)) : std::nullopt);
  }

  // A batch can get larger when it is compressed anew or its timestamps count from another one. As long as
  // positions fit and memory is not at stake, it may; else it stays as it is, with more than it need have.
  Result<void> add_filtered(CleanedSegment& cleaned, const RecordBatchView& batch,
                            const std::vector<bool>& kept, std::optional<TimestampMs> horizon) {
    constexpr uint64_t position_max = std::numeric_limits<int32_t>::max();
    const uint64_t taken = cleaned.size() + bytes_to_come_;
    const uint64_t room = taken < position_max ? position_max - taken : 0;
    const uint64_t growth_max = 2 * batch.size_bytes() + (64 << 10);
    BARNABAS_ASSIGN(const auto filtered,
                    filter_batch(batch, {.kept = kept,
                                         .delete_horizon = horizon,
                                         .size_max = static_cast<std::size_t>(std::min(room, growth_max))}));
    changed_ = changed_ || filtered.has_value();
    cleaned.add(filtered ? ByteView(*filtered) : batch.bytes());
    return {};
  }

  LogState& log_;
  const CleaningNeed need_;
  CleaningTools& tools_;
  KeyHasher hasher_;
  CleaningRound round_;
  CleaningResult result_;
  std::shared_ptr<const LogConfig> config_;
  std::vector<SegmentPtr> segments_;  ///< that may be cleaned
  std::vector<Offset> ends_;          ///< where the next of each begins
  uint64_t truncations_ = 0;
  CleanedTransactions transactions_;
  LastRecords last_records_;
  bool replaced_ = false;
  // Of the group that is being cleaned.
  std::size_t group_ = 0;  ///< its first segment
  bool changed_ = false;
  uint64_t bytes_to_come_ = 0;
};

}  // namespace

// --- deciding ----------------------------------------------------------------------------------------------

namespace {

struct CleanerFacts {
  std::vector<SegmentPtr> segments;
  std::vector<CleanerSegment> sizes;
  std::shared_ptr<const LogConfig> config;
  Offset first_dirty{0};
};

// Memory only.
CleanerFacts cleaner_facts(LogState& log) {
  CleanerFacts facts;
  std::lock_guard lock(log.append_mutex);
  facts.config = log.config;
  facts.first_dirty = first_dirty_offset(log.cleaned_to, log.log_start.load(), log.log_end.load());
  if (log.segments.size() < 2 || log.active().base_offset() <= facts.first_dirty) return facts;
  facts.segments = log.segments;
  facts.sizes.reserve(log.segments.size());
  for (const SegmentPtr& segment : log.segments)
    facts.sizes.push_back({segment->base_offset(), segment->size()});
  return facts;
}

bool is_dirty(const CleanerFacts& facts, std::size_t segment) {
  return facts.sizes[segment + 1].base_offset > facts.first_dirty;
}

// Start of the first dirty segment that is younger than min.compaction.lag.ms; of the active one without any.
Result<Offset> first_too_young(const CleanerFacts& facts, TimestampMs now) {
  const int64_t lag = facts.config->min_compaction_lag_ms;
  for (std::size_t i = 0; lag > 0 && i + 1 < facts.segments.size(); ++i) {
    if (!is_dirty(facts, i) || facts.sizes[i].size_bytes == 0) continue;
    BARNABAS_ASSIGN(const auto max, facts.segments[i]->max_timestamp());
    const TimestampMs largest =
        max.timestamp >= TimestampMs{0} ? max.timestamp : facts.segments[i]->created();
    if (largest > now - lag) return facts.sizes[i].base_offset;
  }
  return facts.sizes.back().base_offset;
}

Result<bool> is_overdue(const CleanerFacts& facts, TimestampMs now) {
  const int64_t lag = facts.config->max_compaction_lag_ms;
  if (lag >= now.value()) return false;
  for (std::size_t i = 0; i + 1 < facts.segments.size(); ++i) {
    if (!is_dirty(facts, i) || facts.sizes[i].size_bytes == 0) continue;
    BARNABAS_ASSIGN(const TimestampMs first, facts.segments[i]->first_timestamp());
    if (first > TimestampMs{0} && first < now - lag) return true;
  }
  return false;
}

}  // namespace

Result<CleaningNeed> Log::cleaning_need(TimestampMs now, Offset high_watermark) {
  LogState& log = *state_;
  const CleanerFacts facts = cleaner_facts(log);
  if (facts.segments.empty()) return storage::cleaning_need({}, facts.first_dirty, facts.first_dirty);
  const Offset stable = last_stable_offset(high_watermark);
  BARNABAS_ASSIGN(const Offset young, first_too_young(facts, now));
  const Offset end = first_uncleanable_offset(facts.sizes, facts.first_dirty, std::min(stable, young));
  CleaningNeed need = storage::cleaning_need(facts.sizes, facts.first_dirty, end);
  need.decided_to = std::min(high_watermark, log_end_offset());
  if (need.cleanable_bytes > 0) {
    BARNABAS_ASSIGN(need.overdue, is_overdue(facts, now));
  }
  return need;
}

Result<CleaningResult> Log::clean(const CleaningNeed& need, CleaningTools& tools, TimestampMs now) {
  // A record goes because a later one has its key, or because a marker says that it never counted, maybe one
  // far ahead: these must be safe before.
  if (recovery_point() < std::max(need.first_uncleanable, need.decided_to)) BARNABAS_TRY(flush());
  return Pass(*state_, need, tools, now).run();
}

std::optional<Offset> Log::cleaned_to() const {
  std::lock_guard lock(state_->append_mutex);
  return state_->cleaned_to;
}

void Log::set_cleaned_to(std::optional<Offset> offset) {
  std::lock_guard lock(state_->append_mutex);
  state_->cleaned_to = offset;
}

// --- replacing ---------------------------------------------------------------------------------------------

void LogState::note_truncation(Offset offset) {
  ++truncations;
  if (cleaned_to) cleaned_to = std::min(*cleaned_to, offset);
}

namespace {

// With append_mutex held, once all files have their new names.
void exchange_segments(LogState& log, std::size_t first, std::size_t count, const SegmentPtr& made,
                       std::vector<std::string> deleted) {
  std::lock_guard lock(log.mutex);
  const auto at = log.segments.begin() + static_cast<std::ptrdiff_t>(first);
  *at = made;
  log.segments.erase(at + 1, at + static_cast<std::ptrdiff_t>(count));
  log.deleted_files.insert(log.deleted_files.end(), std::make_move_iterator(deleted.begin()),
                           std::make_move_iterator(deleted.end()));
  log.known_positions.clear();
  ++log.generation;
  log.directory_dirty = true;
}

Result<void> rename_all(const std::vector<SegmentPtr>& old, LogSegment& made,
                        std::vector<std::string>& deleted) {
  // A crash on the way leaves the new segment under its swap name until all old ones are gone.
  for (const SegmentPtr& segment : old) {
    BARNABAS_ASSIGN(std::vector<std::string> names, segment->rename_to(SegmentNames::deleted));
    deleted.insert(deleted.end(), std::make_move_iterator(names.begin()),
                   std::make_move_iterator(names.end()));
  }
  BARNABAS_TRY(made.rename_to(SegmentNames::plain));
  return {};
}

}  // namespace

Result<bool> LogState::replace_segments(const std::vector<SegmentPtr>& old, const SegmentPtr& made,
                                        uint64_t truncations_before) {
  // Once its name says that the new segment is whole, a crash puts it into place, whatever is there. So from
  // here to the end nobody may delete the old ones.
  std::lock_guard exclusive(segments_mutex);
  const auto find_old = [&]() -> std::optional<std::size_t> {
    const auto at = std::ranges::find(segments, old.front());
    const auto first = static_cast<std::size_t>(at - segments.begin());
    if (truncations != truncations_before || first + old.size() >= segments.size() ||
        !std::equal(old.begin(), old.end(), at))
      return std::nullopt;
    return first;
  };
  {
    std::lock_guard lock(append_mutex);
    BARNABAS_TRY(check_writable());
    if (!find_old()) return false;
  }
  BARNABAS_TRY(made->rename_to(SegmentNames::swap));
  BARNABAS_TRY(disk().sync_directory(files->directory()));
  {
    std::lock_guard lock(append_mutex);
    BARNABAS_TRY(check_writable());
    const auto first = find_old();
    BARNABAS_ASSERT(first.has_value());
    std::vector<std::string> deleted;
    if (auto renamed = rename_all(old, *made, deleted); !renamed)
      return broken_by(std::move(renamed).error());
    exchange_segments(*this, *first, old.size(), made, std::move(deleted));
    changed_since_open = true;
    BARNABAS_TRY(remove_stray_snapshots());
  }
  if (auto synced = disk().sync_directory(files->directory()); !synced)
    return broken_by(std::move(synced).error());
  return true;
}

}  // namespace barnabas::storage
