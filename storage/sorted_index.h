#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/endian.h"
#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"

namespace barnabas::storage {

/// Entry of a ".index" file: a batch whose last offset is base + relative_offset begins at `position` of the
/// segment. Format: docs/formats/offset-index.md.
struct OffsetIndexEntry {
  int32_t relative_offset = 0;
  int32_t position = 0;

  static constexpr std::size_t size_bytes = 8;
  static OffsetIndexEntry load(const std::byte* from) {
    return {load_big_endian<int32_t>(from), load_big_endian<int32_t>(from + 4)};
  }
  void store(std::byte* to) const {
    store_big_endian(to, relative_offset);
    store_big_endian(to + 4, position);
  }
  bool is_zero() const { return relative_offset == 0 && position == 0; }
  bool operator==(const OffsetIndexEntry&) const = default;
};
static_assert(OffsetIndexEntry::size_bytes == sizeof(int32_t) + sizeof(int32_t));

/// Entry of a ".timeindex" file: up to where the entry was made, no timestamp of the segment is larger than
/// `timestamp`, and the batch that has it ends at base + relative_offset. Format: docs/formats/time-index.md.
struct TimeIndexEntry {
  TimestampMs timestamp;
  int32_t relative_offset = 0;

  static constexpr std::size_t size_bytes = 12;
  static TimeIndexEntry load(const std::byte* from) {
    return {TimestampMs(load_big_endian<int64_t>(from)), load_big_endian<int32_t>(from + 8)};
  }
  void store(std::byte* to) const {
    store_big_endian(to, timestamp.value());
    store_big_endian(to + 8, relative_offset);
  }
  bool is_zero() const { return timestamp == TimestampMs{0} && relative_offset == 0; }
  bool operator==(const TimeIndexEntry&) const = default;
};
static_assert(TimeIndexEntry::size_bytes == sizeof(int64_t) + sizeof(int32_t));

/// Searches the first `count` entries of an index file, in which `below_or_at` holds for a front part only:
/// the last entry for which it holds, and its number. Reads a block of entries at a time and keeps nothing.
template <class Entry, class BelowOrAt>
Result<std::optional<std::pair<Entry, uint32_t>>> find_last_in_file(io::File& file, uint32_t count,
                                                                    BelowOrAt&& below_or_at) {
  constexpr uint32_t block = 4096 / Entry::size_bytes;
  std::array<std::byte, block * Entry::size_bytes> bytes;
  // Invariant: holds for all entries before `low`, for none from `high` on.
  uint32_t low = 0, high = count;
  std::optional<std::pair<Entry, uint32_t>> best;
  while (low < high) {
    // The middle block, or all that is left if it fits into one.
    const uint32_t middle = high - low <= block ? low : low + (high - low) / 2;
    const uint32_t wanted = std::min(block, high - middle);
    BARNABAS_ASSIGN(const std::size_t got,
                    file.read_at(MutableByteView(bytes).first(wanted * Entry::size_bytes),
                                 uint64_t{middle} * Entry::size_bytes));
    if (got < wanted * Entry::size_bytes)
      return fail(ErrorKind::corrupt, file.path() + ": ends before entry " + std::to_string(middle + wanted));
    uint32_t holds = 0;  // how many of the block
    uint32_t block_high = wanted;
    while (holds < block_high) {
      const uint32_t at = (holds + block_high) / 2;
      if (below_or_at(Entry::load(bytes.data() + at * Entry::size_bytes)))
        holds = at + 1;
      else
        block_high = at;
    }
    if (holds > 0) best = {Entry::load(bytes.data() + (holds - 1) * Entry::size_bytes), middle + holds - 1};
    if (holds == 0)
      high = middle;
    else if (holds < wanted)
      return best;
    else
      low = middle + wanted;
  }
  return best;
}

/// The entries of one index: a front part in the file, the newest ones in memory only until they are written
/// out. A file is written in pieces of many entries or when the segment is done, since after a crash it is
/// made again anyway. Not safe for several threads; the segment has the lock.
template <class Entry>
class SortedIndex {
 public:
  /// So many entries are kept in memory before they are written out: one page of the smaller kind.
  static constexpr std::size_t tail_max = 512;

  bool loaded() const { return loaded_; }
  void set_loaded(uint32_t stored, std::optional<Entry> last) {
    loaded_ = true;
    stored_ = stored;
    last_ = last;
    tail_.clear();
  }
  void forget() {
    loaded_ = false;
    stored_ = 0;
    last_.reset();
    tail_ = {};
  }

  uint32_t count() const { return stored_ + static_cast<uint32_t>(tail_.size()); }
  uint32_t stored() const { return stored_; }
  std::optional<Entry> last() const { return last_; }
  bool tail_full() const { return tail_.size() >= tail_max; }
  bool has_tail() const { return !tail_.empty(); }

  void append(const Entry& entry) {
    tail_.push_back(entry);
    last_ = entry;
  }

  /// The last entry of the tail for which it holds; nullopt: look into the file.
  template <class BelowOrAt>
  std::optional<Entry> find_last_in_tail(BelowOrAt&& below_or_at) const {
    auto end = std::partition_point(tail_.begin(), tail_.end(), below_or_at);
    return end == tail_.begin() ? std::nullopt : std::optional(*std::prev(end));
  }

  /// Writes the tail behind the stored entries and forgets it. After an error the tail is still there.
  Result<void> write_tail(io::File& file) {
    if (tail_.empty()) return {};
    std::vector<std::byte> bytes(tail_.size() * Entry::size_bytes);
    for (std::size_t i = 0; i < tail_.size(); ++i) tail_[i].store(bytes.data() + i * Entry::size_bytes);
    BARNABAS_TRY(file.write_at(ByteView(bytes), uint64_t{stored_} * Entry::size_bytes));
    stored_ += static_cast<uint32_t>(tail_.size());
    tail_.clear();
    return {};
  }
  /// Gives the tail's memory back.
  void shrink() { tail_.shrink_to_fit(); }

 private:
  bool loaded_ = false;
  uint32_t stored_ = 0;
  std::optional<Entry> last_;
  std::vector<Entry> tail_;
};

using OffsetIndex = SortedIndex<OffsetIndexEntry>;
using TimeIndex = SortedIndex<TimeIndexEntry>;

}  // namespace barnabas::storage
