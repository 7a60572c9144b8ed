#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "storage/batch_scanner.h"
#include "storage/file_pool.h"
#include "storage/log_files.h"
#include "storage/sorted_index.h"

namespace barnabas::storage {

struct AbortedTransaction;
namespace transaction_index {
struct Found;
}

/// For indexes that are made again where no setting is at hand.
inline constexpr int32_t default_index_interval_bytes = 4096;

/// What follows the names of a segment's files.
enum class SegmentNames : uint8_t {
  plain,
  cleaned,  ///< ".cleaned": being made by a compaction
  swap,     ///< ".swap": finished, about to take the place of others
  deleted,  ///< ".deleted"
};

/// One segment of a log: the file of batches and its indexes. What the indexes say is loaded when it is first
/// needed, made again from the batches when it is missing or wrong, and for new batches kept in memory in
/// front of the file.
///
/// Threads: look-ups from any thread, beside one writer (who has the log's append lock).
class LogSegment {
 public:
  /// Stands for files that are there; nothing is read. `size` is the part of the log file that holds good
  /// batches.
  LogSegment(std::shared_ptr<LogFiles> files, Offset base_offset, uint64_t size, TimestampMs created);
  /// Makes the files of an empty segment. What may lie there from an earlier attempt goes.
  static Result<std::shared_ptr<LogSegment>> create(std::shared_ptr<LogFiles> files, Offset base_offset,
                                                    TimestampMs created,
                                                    SegmentNames names = SegmentNames::plain);

  Offset base_offset() const { return base_offset_; }
  uint64_t size() const { return size_.load(std::memory_order_acquire); }
  TimestampMs created() const { return created_; }
  /// What a file is called now. Whoever opens one by its name does so through open_file.
  std::string path(std::string_view suffix) const;
  /// Opens a file of the segment under the name that it has now: no renaming comes in between.
  Result<std::shared_ptr<io::File>> open_file(std::string_view suffix, io::OpenMode mode);

  /// The log file, open for reading and writing.
  Result<std::shared_ptr<io::File>> file();

  // --- looking up ------------------------------------------------------------------------------------------

  /// The first batch that ends at or above `target`, of those below `end`; nullopt when there is none.
  Result<std::optional<BatchAt>> find_batch(Offset target, uint64_t end);
  /// A batch that begins at or below `position`, near it, as the index says: whoever goes there checks that
  /// it ends at `last_offset`. Without an entry the start of the file, which needs no check.
  struct BatchStart {
    uint64_t position = 0;
    std::optional<Offset> last_offset;
    bool fits(const Result<std::optional<BatchAt>>& found) const {
      return !last_offset || (found && *found && (*found)->header.last_offset() == *last_offset);
    }
  };
  Result<BatchStart> batch_start_before(uint64_t position);
  /// All records with a timestamp above or at `timestamp` are in batches that end at or above this offset.
  Result<Offset> offset_before_timestamp(TimestampMs timestamp);
  /// Largest timestamp and the last offset of the first batch that has it; timestamp -1 in an empty segment.
  struct MaxTimestamp {
    TimestampMs timestamp = no_timestamp;
    Offset offset;
  };
  Result<MaxTimestamp> max_timestamp();
  /// Largest timestamp of the first batch: where the segment's age counts from. -1 when empty.
  Result<TimestampMs> first_timestamp();

  // --- writing ---------------------------------------------------------------------------------------------

  /// Loads what note_batch goes on from. To be called before the first write.
  Result<void> prepare_append();
  /// Takes a batch into the indexes that was written at `position`. Memory only.
  void note_batch(const protocol::RecordBatchHeader& header, uint64_t position, int32_t index_interval_bytes);
  /// Makes written batches visible.
  void set_size(uint64_t size) { size_.store(size, std::memory_order_release); }
  /// Writes index entries out when enough have come together; failing is no harm, they stay in memory.
  void write_full_index_tails();
  /// An index has reached segment.index.bytes.
  bool index_full(int32_t segment_index_bytes);
  /// The segment gets no more batches for now: completes its index files.
  Result<void> finish_indexes();

  /// Cuts off everything from `position` on, durably, and makes the indexes anew.
  Result<void> truncate(uint64_t position);
  /// Makes both indexes anew from batches [0, size).
  Result<void> rebuild_indexes(int32_t index_interval_bytes);
  /// For somebody who walks over the batches anyway: empties the indexes, to be filled by note_batch and
  /// finish_indexes.
  Result<void> begin_rebuild();

  /// fdatasync of the log file, and of the index files once the segment is finished.
  Result<void> sync(bool with_indexes);
  bool synced() const { return synced_size_.load(std::memory_order_acquire) >= size(); }
  /// Nor do the index files need a sync.
  bool fully_synced() {
    std::lock_guard lock(mutex_);
    return synced() && indexes_synced_;
  }
  /// What is there has survived a clean stop.
  void assume_synced();

  /// Gives all files new names, which it returns. Look-ups that run go on. After an error some have the new
  /// name and some the old one.
  Result<std::vector<std::string>> rename_to(SegmentNames names);
  Result<std::vector<std::string>> mark_deleted() { return rename_to(SegmentNames::deleted); }
  /// The transactions in the segment's index; empty when there is no index.
  Result<std::vector<AbortedTransaction>> aborted_transactions();
  /// Bytes of the index files, when they are complete.
  struct IndexBytes {
    uint64_t offsets = 0;
    uint64_t times = 0;
  };
  Result<IndexBytes> index_bytes();
  /// See transaction_index::find. Does not ask the disk when no marker of the index is at or above `from`.
  Result<transaction_index::Found> aborted_transactions(Offset from, Offset upper_bound);
  /// There may be a transaction index; without it, no reader need ask the disk.
  bool may_have_aborted() const { return newest_aborted_.load(std::memory_order_acquire) != no_offset; }
  void set_may_have_aborted(bool may) {
    newest_aborted_.store(may ? unknown_newest : no_offset, std::memory_order_release);
  }
  /// One whose marker is at `offset`, above all others, is being added.
  void note_aborted(Offset offset) { newest_aborted_.store(offset, std::memory_order_release); }

  /// Gives descriptors back.
  void release_files();

 private:
  Result<void> load_indexes();
  Result<bool> load_offset_index();
  Result<bool> load_time_index();
  Result<void> rebuild_locked(int32_t index_interval_bytes);
  Result<std::shared_ptr<io::File>> index_file(bool create);
  std::string path_with(std::string_view suffix, SegmentNames names) const;
  bool deleted() const { return names_.load(std::memory_order_acquire) == SegmentNames::deleted; }
  Result<void> clear_index_files();
  Result<void> write_tails();
  template <class BelowOrAt>
  Result<std::optional<OffsetIndexEntry>> find_index_entry(BelowOrAt&& below_or_at);

  const std::shared_ptr<LogFiles> files_;
  const Offset base_offset_;
  const TimestampMs created_;
  std::atomic<uint64_t> size_;
  std::atomic<uint64_t> synced_size_ = 0;
  std::atomic<SegmentNames> names_ = SegmentNames::plain;
  /// Held shared while a file is opened by its name, alone while names change: what a name stands for may be
  /// another segment's file afterwards.
  mutable std::shared_mutex names_mutex_;
  /// Marker of the newest aborted transaction; no_offset: there is none.
  static constexpr Offset unknown_newest{std::numeric_limits<int64_t>::max()};
  std::atomic<Offset> newest_aborted_ = no_offset;
  FilePool::Slot log_slot_;
  FilePool::Slot index_slot_;

  std::mutex mutex_;  ///< for all below
  bool indexes_synced_ = false;
  uint32_t bytes_since_index_entry_ = 0;
  MaxTimestamp max_timestamp_;
  TimestampMs first_timestamp_ = no_timestamp;
  OffsetIndex offset_index_;
  TimeIndex time_index_;
};

}  // namespace barnabas::storage
