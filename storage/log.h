#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "io/disk.h"
#include "storage/compaction_candidates.h"
#include "storage/file_pool.h"
#include "storage/leader_epoch_cache.h"
#include "storage/log_config.h"
#include "storage/offset_changes.h"
#include "storage/producer_state.h"

namespace barnabas::storage {

/// What opening a log found and did about it.
struct RecoveryReport {
  bool scanned = false;  ///< the last run did not end cleanly: batches were read and verified
  uint64_t scanned_bytes = 0;
  uint64_t truncated_bytes = 0;     ///< dropped behind the last good batch
  Offset truncated_at = no_offset;  ///< log end after that; -1 when nothing was dropped
  int segments_removed = 0;         ///< whole segments behind the damage
  std::string reason;               ///< what was wrong at the cut: file, byte, found, expected
  /// The recovery point, when the log ends below it: records that had been made durable are gone. -1
  /// otherwise.
  Offset durable_end = no_offset;

  bool lossless() const { return truncated_bytes == 0 && segments_removed == 0; }
  std::string to_string() const;
};

struct AppendResult {
  Offset base_offset;
  Offset last_offset;
  Offset log_start_offset;
  TimestampMs max_timestamp;
  /// The batch is a repeat of an idempotent producer and was not appended again; offsets and timestamp are
  /// those of the first time.
  bool duplicate = false;
};

struct ReadResult {
  /// Whole batches of one segment; the first one contains the asked offset (or follows it, after a gap).
  /// Length 0: nothing to read below the bound. Stays readable while segments are deleted.
  io::FileSlice slice;
  /// Where to go on reading; may name a batch base before the next record in a compacted log.
  Offset next_offset;
  /// Only without at_least_one_batch: the first batch alone is larger than max_bytes, and so the slice is
  /// empty.
  bool first_batch_incomplete = false;
};

struct TimestampedOffset {
  TimestampMs timestamp;
  Offset offset;
  LeaderEpoch leader_epoch = no_leader_epoch;
};

/// One entry of the aborted-transaction index. Format: docs/formats/transaction-index.md.
struct AbortedTransaction {
  ProducerId producer_id;
  Offset first_offset;
  Offset last_offset;         ///< of the abort marker
  Offset last_stable_offset;  ///< at the time of the abort
  bool operator==(const AbortedTransaction&) const = default;
};

/// What retention did.
struct RetentionResult {
  int segments_deleted = 0;
  uint64_t bytes_deleted = 0;
  std::string reason;  ///< of the last one, for the broker's log
};

struct SegmentInfo {
  Offset base_offset;
  uint64_t size_bytes = 0;
};

struct LogState;
struct CleaningNeed;
struct CleaningTools;
struct CleaningResult;

/// The log of one partition: a directory of segments as Apache Kafka lays it out
/// (docs/formats/log-segment.md).
///
/// Threads: every method may be called from any thread, except that nothing may run beside the destructor.
/// Appends to one log follow one another; reads run beside them and beside everything else. "Blocks" marks
/// methods that wait for a device and belong on the disk pool; the others only touch the page cache (a read
/// of cold data may still wait for it).
///
/// Durability: append puts records into the page cache. They survive a power cut when a flush() that began
/// after the append has returned; recovery_point() says up to where that is so.
///
/// Errors: ErrorKind::no_space leaves the log as it was and usable. After any other failed write that could
/// not be undone, or a failed sync, the log is broken for good: appends and flushes answer
/// ErrorKind::offline, reads go on as long as the device lets them. Whoever gets ErrorKind::io takes the
/// directory offline (LogManager::report).
class Log {
 public:
  struct OpenOptions {
    std::string topic;
    PartitionIndex partition;
    /// Written to partition.metadata when that file is missing; zero: only read.
    Uuid topic_id;
    /// Shared between the logs of a topic; never null.
    std::shared_ptr<const LogConfig> config;
    /// From the checkpoint files; 0 when they have no entry.
    Offset recovery_point{0};
    Offset log_start_offset{0};
    /// Where compaction has come to; nothing when the checkpoint has no entry.
    std::optional<Offset> cleaned_to = std::nullopt;
    /// Where the log enters its name while its cleanup policy contains compact; may be null.
    std::shared_ptr<CompactionCandidates> candidates = nullptr;
    /// The last run ended cleanly (clean-shutdown marker of the directory).
    bool clean = false;
    /// A recovery leaves the sync of what it found to the caller: prepare_flush and complete_flush. Until
    /// then the log may not be shown to anybody.
    bool flush_later = false;
    TimestampMs now;
    /// Told of each offset that moves; may be null.
    std::shared_ptr<OffsetChanges> changes = {};
  };

  /// Opens the log in `directory`, or makes an empty one there. After a clean stop this reads names and sizes
  /// only; indexes, epochs and producer state are loaded when they are first needed. Otherwise everything
  /// from the recovery point on is verified, what is behind the first damage is dropped, and indexes, epochs
  /// and producer state are made again; see recovery(). Leftovers of deletions and compactions are dealt with
  /// as Kafka does. Blocks. `disk` and `files` must outlive the log. ErrorKind::unsupported: messages of the
  /// formats before version 2; no batch is touched then.
  static Result<std::unique_ptr<Log>> open(io::Disk& disk, FilePool& files, std::string directory,
                                           OpenOptions options);

  /// A crash unless close_clean() came before: nothing is flushed.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // --- appending -------------------------------------------------------------------------------------------

  /// Appends one or more whole batches that produce validation has passed, in one write: all or nothing.
  /// Offsets from the log end on and the leader epoch are patched into `batches` in place, which must live
  /// until the return only. ErrorKind::out_of_order_sequence, invalid_producer_epoch,
  /// invalid_transaction_state, coordinator_fenced (see ProducerState), no_space, too_large (above
  /// segment.bytes), offline. After an error nothing was appended, and the next append gets these offsets.
  Result<AppendResult> append_as_leader(MutableByteView batches, LeaderEpoch epoch, TimestampMs now,
                                        AppendOrigin origin = AppendOrigin::client,
                                        const TransactionCheck& transaction = {});

  /// Appends batches that a leader has appended before, with their offsets and epochs as given; gaps are
  /// allowed. A last batch that is cut is left out. Checksums are verified. ErrorKind::out_of_range: begins
  /// below the log end; corrupt.
  Result<AppendResult> append_as_follower(ByteView batches, TimestampMs now);

  // --- reading ---------------------------------------------------------------------------------------------

  /// Batches from the one that contains `from`, all of them ending below `upper_bound` (high watermark, last
  /// stable offset or log end), at most max_bytes of them; with at_least_one_batch the first one is given
  /// whatever its size. A reader that goes on where it stopped, or at the end of the log, costs no search.
  /// ErrorKind::out_of_range: `from` is below the log start or above the log end. `from` at or above
  /// upper_bound, but within the log, is an empty result.
  Result<ReadResult> read(Offset from, uint64_t max_bytes, Offset upper_bound, bool at_least_one_batch);

  Offset log_start_offset() const;
  /// The offset that the next record gets.
  Offset log_end_offset() const;
  /// Everything below survives a power cut.
  Offset recovery_point() const;

  /// First record, in log order, with a timestamp at or after `timestamp`, among those at or above the log
  /// start; nullopt: there is none. Exact within batches.
  Result<std::optional<TimestampedOffset>> offset_for_timestamp(TimestampMs timestamp);
  /// First record that has the largest timestamp of the log; nullopt: the log is empty.
  Result<std::optional<TimestampedOffset>> offset_of_max_timestamp();

  // --- leader epochs ---------------------------------------------------------------------------------------

  /// -1 when there is none.
  LeaderEpoch latest_epoch();
  /// See LeaderEpochCache::end_offset.
  EpochEnd end_offset_for_epoch(LeaderEpoch epoch);
  /// Epoch of the record at `offset`; -1 when it is not known.
  LeaderEpoch epoch_of(Offset offset);
  /// This node has become leader in `epoch`; it begins at the log end. Durable after the next flush.
  void assign_epoch_start(LeaderEpoch epoch, Offset start);

  // --- producers and transactions --------------------------------------------------------------------------

  /// High watermark, or the first offset of the oldest transaction that is not decided below it.
  Offset last_stable_offset(Offset high_watermark);
  /// Aborted transactions with records in [from, upper_bound).
  Result<std::vector<AbortedTransaction>> aborted_transactions(Offset from, Offset upper_bound);
  /// See ProducerState. ErrorKind::closed, offline.
  Result<VerificationGuard> begin_verification(const TransactionBegin& batch, VerificationGuard fresh,
                                               TimestampMs now);
  void refuse_verification(ProducerId id, VerificationGuard guard);
  /// Sorted by producer id; for DescribeProducers.
  std::vector<ProducerStateEntry> producers();
  /// Forgets producers that were silent for producer.id.expiration.ms.
  void expire_producers(TimestampMs now);

  // --- durability ------------------------------------------------------------------------------------------

  /// Makes everything appended so far durable, and the names of new files before it. Returns the log end that
  /// is durable now. Appends and reads go on meanwhile; calls that overlap share their syncs. An error breaks
  /// the log for good. Blocks.
  Result<Offset> flush();
  /// A flush in two halves, for many logs of one file system: prepare_flush writes what a flush would write
  /// and syncs nothing; then the caller syncs the file system (io::Disk::sync_file_system), and
  /// complete_flush takes note of it. Nothing may be appended in between. When the sync fails the log's
  /// directory has to go offline. Blocks.
  Result<void> prepare_flush();
  void complete_flush();
  /// Something is not known to be durable, or a recovery has left its sync to the caller.
  bool needs_flush() const;
  /// flush.messages or flush.ms is reached.
  bool flush_due(TimestampMs now) const;
  /// Flushes and leaves the directory so that opening it needs no scan: indexes complete and trimmed,
  /// producer snapshot at the log end. Afterwards all calls answer ErrorKind::closed. Blocks.
  Result<void> close_clean();
  /// close_clean in two halves, as with prepare_flush. A log that is as it was found needs only the second.
  Result<void> prepare_close();
  void complete_close();

  // --- moving to another directory -------------------------------------------------------------------------

  /// For a log that is to become the replica of `source`: appends what it lacks, whole batches with their
  /// offsets and epochs, about `bytes_max` of them (one batch at least), and follows the source's log start.
  /// Returns how many bytes came; 0: it has all that the source had. Where the source has other records, or
  /// has cut some, they are cut here too. Reads from a device, and so belongs on a thread that may wait.
  /// ErrorKind::corrupt, or io with the source's path, when the source cannot be read: ask source.broken() or
  /// its path whose fault it was.
  Result<uint64_t> follow(Log& source, uint64_t bytes_max, TimestampMs now);
  /// Takes the source's place: what is still lacking is appended while nobody else can append to the source,
  /// which then refuses all changes with ErrorKind::closed for good (reads go on). Leader epochs and
  /// producers come as they are, also those whose batches are gone. `switched` runs while both logs are still
  /// locked: whoever appends to the source afterwards finds the change made; false from it calls all off
  /// (ErrorKind::offline). After an error nothing has changed. Call it when little is lacking; it writes to
  /// the page cache and syncs nothing.
  Result<void> take_over(Log& source, TimestampMs now, const std::function<bool()>& switched);
  /// Another name for the directory, while it is in use. The caller syncs the parent directory.
  Result<void> move_directory(const std::string& directory);

  // --- size and age ----------------------------------------------------------------------------------------

  /// Begins a new segment if the active one has outlived segment.ms without an append. Returns whether it
  /// did.
  Result<bool> roll_if_due(TimestampMs now);
  /// Begins a new segment unless the active one is empty.
  Result<void> roll(TimestampMs now);

  /// Deletes segments by age, size and log start offset (see retention.h), never one that reaches above
  /// `high_watermark`. Flushes before. Deleted files are renamed to "….deleted" only; see
  /// take_deleted_files(). Blocks.
  Result<RetentionResult> apply_retention(TimestampMs now, Offset high_watermark);
  /// Moves the log start offset up to `offset` (never down); returns the log start. ErrorKind::out_of_range:
  /// above the log end. Durable through the log-start-offset checkpoint, which the caller writes. Segments go
  /// with the next retention.
  Result<Offset> delete_records_before(Offset offset);
  /// Paths of files that were renamed away since the last call; to be removed after file.delete.delay.ms.
  std::vector<std::string> take_deleted_files();

  /// What there is to compact (cleaner_rules.h), whatever the cleanup policy. Looks into files only if there
  /// is something, and then once for each segment.
  Result<CleaningNeed> cleaning_need(TimestampMs now, Offset high_watermark);
  /// Compacts [need.first_dirty, need.first_uncleanable), or as much of it as the key map has room for, and
  /// all that is before. Appends, reads and everything else go on meanwhile, and readers that hold a slice
  /// keep it; one call at a time. Flushes before. A crash at any moment leaves each segment as it was or
  /// compacted; so do errors. ErrorKind::corrupt, invalid_record, unsupported: some batch is damaged, and the
  /// same will happen again. no_space: some other time. Blocks.
  Result<CleaningResult> clean(const CleaningNeed& need, CleaningTools& tools, TimestampMs now);
  /// Where the last compaction ended; for the cleaner-offset-checkpoint, which the caller writes.
  std::optional<Offset> cleaned_to() const;
  /// For a log that was copied from another one.
  void set_cleaned_to(std::optional<Offset> offset);

  /// Drops every batch that ends at or above `offset`, durably. Does nothing when that is not below the log
  /// end. The caller writes the recovery-point checkpoint before it appends again. An error breaks the log.
  /// Blocks.
  Result<void> truncate_to(Offset offset);
  /// Drops everything, durably; the log goes on at `offset`, which is its start and end then. Checkpoint and
  /// errors as with truncate_to. Blocks.
  Result<void> truncate_fully_and_start_at(Offset offset);

  uint64_t size_bytes() const;
  std::vector<SegmentInfo> segments() const;  ///< oldest first

  /// To be called when the high watermark, which the log does not keep, has moved.
  void note_high_watermark() const;

  // --- the log as a thing ----------------------------------------------------------------------------------

  const std::string& topic() const;
  PartitionIndex partition() const;
  std::string directory() const;
  /// From partition.metadata; zero when there is no such file, ErrorKind::corrupt when a power cut spoilt it.
  Result<Uuid> topic_id();
  /// Writes partition.metadata anew. Durable after the next flush.
  Result<void> set_topic_id(const Uuid& topic_id);
  std::shared_ptr<const LogConfig> config() const;
  void set_config(std::shared_ptr<const LogConfig> config);
  const RecoveryReport& recovery() const;
  bool broken() const;

  /// The topic is being deleted: refuses appends and flushes from now on, gives all descriptors back, renames
  /// the directory. The caller syncs the parent directory. Readers that hold a slice keep it.
  Result<void> rename_directory(const std::string& directory);

 private:
  explicit Log(std::unique_ptr<LogState> state);
  std::unique_ptr<LogState> state_;
};

}  // namespace barnabas::storage
