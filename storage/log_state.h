#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/log.h"
#include "storage/log_files.h"
#include "storage/log_segment.h"

namespace barnabas::storage {

/// Offsets at which batches begin, with their positions: where readers stopped, where flushes ended. So who
/// reads on there needs no search. A few, the oldest is replaced.
class KnownPositions {
 public:
  void add(Offset offset, Offset segment, uint64_t position) {
    for (Item& item : items_)
      if (item.offset == offset) {
        item = {offset, segment, position};
        return;
      }
    items_[next_] = {offset, segment, position};
    next_ = static_cast<uint8_t>((next_ + 1) % items_.size());
  }
  std::optional<uint64_t> find(Offset offset, Offset segment) const {
    for (const Item& item : items_)
      if (item.offset == offset && item.segment == segment) return item.position;
    return std::nullopt;
  }
  void clear() { items_ = {}; }

 private:
  struct Item {
    Offset offset = no_offset;
    Offset segment = no_offset;
    uint64_t position = 0;
  };
  std::array<Item, 6> items_;
  uint8_t next_ = 0;
};

/// The inside of a Log. Locks are taken in this order: segments_mutex, flush_mutex, append_mutex, mutex,
/// then those of segments.
struct LogState {
  LogState(io::Disk& disk, FilePool& pool, std::string directory, const Log::OpenOptions& options);

  io::Disk& disk() { return files->disk(); }
  /// offline or closed, when the log takes no more writes.
  Result<void> check_writable() const;
  void note_change() const {
    if (changes) changes->note();
  }
  /// Remembers that the log cannot be trusted any more, and passes the error on.
  std::unexpected<Error> broken_by(Error error);

  // With append_mutex held.
  LogSegment& active() { return *segments.back(); }
  bool must_roll(uint64_t bytes, TimestampMs max_timestamp, Offset last_offset, TimestampMs now,
                 Result<void>& error);
  Result<void> roll(Offset base_offset, TimestampMs now);
  Result<void> load_producers();
  Result<void> write_snapshot(Offset offset);
  Result<void> remove_stray_snapshots();
  Result<void> rebuild_producers();
  /// Applies what stands in [from, to) to the producer state.
  Result<void> replay_producers(Offset from, Offset to);
  /// Reads the batches again that a snapshot file had no room for.
  Result<void> complete_history(ProducerStateEntry& entry);
  Result<void> delete_segments(std::size_t first, std::size_t count);
  /// Everything goes; with flush_mutex held too.
  Result<void> start_anew(Offset offset, TimestampMs now);
  void truncate_snapshots(Offset above);
  /// The log was cut at `offset`: nothing behind is compacted, and a compaction that runs must not go on.
  void note_truncation(Offset offset);
  /// `made`, whose files are durable and called ".cleaned", takes the place of `old`, durably; false: those
  /// are not what the log has any more, and nothing was done. Without locks held.
  Result<bool> replace_segments(const std::vector<std::shared_ptr<LogSegment>>& old,
                                const std::shared_ptr<LogSegment>& made, uint64_t truncations_before);
  Result<void> apply_to_producers(io::File& file, const BatchAt& batch);
  /// Shows to readers what the producer state knows of undecided transactions.
  void note_undecided();

  // With mutex held.
  void load_epochs();
  /// Index of the segment that `offset` falls into: the last one that begins at or below it; 0 if all begin
  /// above.
  std::size_t segment_index(Offset offset) const;
  void note_epoch(LeaderEpoch epoch, Offset start);

  /// Asks again when segments were replaced or cut meanwhile: a file that was found by its old name may be
  /// another one by now. Without locks held.
  template <class Ask>
  auto with_steady_segments(Ask&& ask) const {
    while (true) {
      const uint64_t before = generation.load(std::memory_order_acquire);
      auto answer = files->retry_if_renamed(ask);
      if (generation.load(std::memory_order_acquire) == before) return answer;
    }
  }

  /// With append_mutex held, or alone.
  void note_policy() const {
    if (candidates && !closed.load()) candidates->set({topic, partition}, config->cleanup_compact);
  }

  const std::shared_ptr<LogFiles> files;
  const std::string topic;
  const PartitionIndex partition;
  const std::shared_ptr<OffsetChanges> changes;
  const std::shared_ptr<CompactionCandidates> candidates;
  RecoveryReport recovery;

  /// One deletes, cuts or replaces segments at a time. Held across syncs.
  std::mutex segments_mutex;
  std::mutex flush_mutex;    ///< one flush at a time
  std::mutex append_mutex;   ///< one change of content at a time
  mutable std::mutex mutex;  ///< short; all members below, unless said otherwise

  // Changed with append_mutex and mutex held; either is enough to read.
  std::shared_ptr<const LogConfig> config;
  std::vector<std::shared_ptr<LogSegment>> segments;  ///< never empty
  std::atomic<Offset> log_start{Offset{0}};
  std::atomic<Offset> log_end{Offset{0}};

  std::atomic<Offset> recovery_point{Offset{0}};  ///< changed with mutex held
  std::atomic<bool> broken = false;
  std::atomic<bool> closed = false;
  std::atomic<bool> maybe_unstable =
      true;  ///< a transaction may be undecided; true until producers are loaded
  std::atomic<int64_t> first_unflushed_ms = -1;

  // With append_mutex.
  std::unique_ptr<ProducerState> producers;  ///< null until needed
  std::vector<Offset> snapshots;             ///< offsets of snapshot files, ascending
  int64_t roll_jitter_ms = 0;
  std::atomic<bool> changed_since_open = false;
  uint64_t truncations = 0;
  /// Where the last compaction ended; nothing: there was none that is known.
  std::optional<Offset> cleaned_to;

  // With mutex.
  LeaderEpochCache epochs;
  bool epochs_loaded = false;
  bool epochs_dirty = false;
  std::atomic<LeaderEpoch> latest_epoch{no_leader_epoch};
  bool directory_dirty = false;
  bool parent_dirty = false;
  bool metadata_dirty = false;  ///< partition.metadata
  std::vector<std::string> unsynced_files;
  std::vector<std::string> deleted_files;
  KnownPositions known_positions;
  /// Counts truncations and replacements; changed with mutex held.
  std::atomic<uint64_t> generation = 0;
  /// Of the oldest undecided transaction, while maybe_unstable and once producers are loaded: so readers need
  /// not wait for an append.
  std::optional<ProducerState::Undecided> undecided;
  Uuid topic_id;
  bool topic_id_loaded = false;
};

// The steps of Log::open, on a state that nobody else knows yet.

/// Deals with what deletions and compactions left behind in the directory, as Kafka does, and returns the
/// names that remain.
Result<std::vector<std::string>> clean_leftovers(LogFiles& files,
                                                 const std::vector<io::DirectoryEntry>& entries);
/// See Log.
Result<std::vector<AbortedTransaction>> aborted_transactions(LogState& log, Offset from, Offset upper_bound);
/// Verifies everything from the recovery point on; sets the log end.
Result<void> recover(LogState& log, Offset recovery_point);
/// Epochs from the checkpoint file, or from the batches of the first `segments` segments when there is none
/// that can be read.
Result<LeaderEpochCache> read_epochs(LogState& log, std::size_t segments);

}  // namespace barnabas::storage
