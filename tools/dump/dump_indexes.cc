#include "tools/dump/dump_indexes.h"

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "storage/batch_scanner.h"
#include "storage/sorted_index.h"
#include "storage/transaction_index.h"

namespace barnabas::tools {
namespace {

using storage::OffsetIndexEntry;
using storage::TimeIndexEntry;

/// Entries of a fixed size, read a block at a time. `visit` gets the number, the position and the bytes of
/// each, and says whether to go on.
void for_each_entry(io::File& file, std::size_t entry_bytes, DumpReport& report,
                    const std::function<bool(uint64_t, uint64_t, const std::byte*)>& visit) {
  const auto size = file.size();
  if (!size) return report.problem(size.error().message);
  std::vector<std::byte> block(entry_bytes * 1024);
  uint64_t number = 0;
  for (uint64_t at = 0; at < *size;) {
    const auto got = file.read_at(block, at);
    if (!got) return report.problem(at, got.error().message);
    const std::size_t whole = *got / entry_bytes;
    for (std::size_t i = 0; i < whole; ++i, ++number) {
      if (!visit(number, at + i * entry_bytes, block.data() + i * entry_bytes)) return;
    }
    at += whole * entry_bytes;
    if (whole < 1024 && at < *size) {
      // Kafka allocates index files in advance, rounded down to whole entries; a rest is never its doing.
      report.problem(at, fmt::format("{} bytes found, entries of {} expected", *size - at, entry_bytes));
      return;
    }
  }
}

/// Walks over the batches of a log in step with an index, which names them in the same order.
class LogCursor {
 public:
  explicit LogCursor(io::File* log) {
    if (log == nullptr) return;
    const auto size = log->size();
    if (size) scanner_.emplace(*log, 0, *size);
  }

  bool is_there() const { return scanner_.has_value(); }

  /// Goes on until `reached` holds for a batch; nullopt when none is left or the log cannot be read.
  std::optional<storage::BatchAt> advance(const std::function<bool(const storage::BatchAt&)>& reached) {
    while (!current_ || !reached(*current_)) {
      auto next = scanner_->next();
      if (!next || !*next) return std::nullopt;
      current_ = **next;
    }
    return current_;
  }

 private:
  std::optional<storage::HeaderScanner> scanner_;
  std::optional<storage::BatchAt> current_;
};

bool has_bytes_behind(io::File& file, uint64_t position) {
  std::array<std::byte, 4096> block;
  while (true) {
    const auto got = file.read_at(block, position);
    if (!got || *got == 0) return false;
    for (std::size_t i = 0; i < *got; ++i) {
      if (block[i] != std::byte{0}) return true;
    }
    position += *got;
  }
}

/// The zeros that follow the last entry while Kafka has the file open. No entry is all zeros: the first batch
/// gets none.
void report_zeros(io::File& file, uint64_t position, DumpReport& report) {
  if (has_bytes_behind(file, position)) {
    report.problem(position, "an entry of zeros found before other entries");
  } else {
    report.line("zeros from byte {} to the end (allocated in advance)", position);
  }
}

}  // namespace

void dump_offset_index(io::File& file, Offset base, io::File* log, DumpReport& report) {
  LogCursor cursor(log);
  OffsetIndexEntry before{-1, -1};
  uint64_t entries = 0;
  for_each_entry(
      file, OffsetIndexEntry::size_bytes, report, [&](uint64_t number, uint64_t at, const std::byte* bytes) {
        const OffsetIndexEntry entry = OffsetIndexEntry::load(bytes);
        if (entry.is_zero()) {
          report_zeros(file, at, report);
          return false;
        }
        const Offset offset = base + entry.relative_offset;
        report.line("entry {} offset={} position={}", number, offset.value(), entry.position);
        ++entries;
        if (entry.relative_offset <= before.relative_offset || entry.position <= before.position) {
          report.problem(
              at, fmt::format("offset {} position {} found, more than {} and {} expected", offset.value(),
                              entry.position, (base + before.relative_offset).value(), before.position));
        }
        before = entry;
        if (!cursor.is_there() || entry.position < 0) return true;
        const auto position = static_cast<uint64_t>(entry.position);
        const auto batch =
            cursor.advance([&](const storage::BatchAt& one) { return one.position >= position; });
        if (!batch || batch->position != position) {
          report.problem(at, fmt::format("position {} found, where the log has no batch", entry.position));
        } else if (offset < batch->header.base_offset || offset < batch->header.last_offset()) {
          report.problem(
              at, fmt::format("offset {} found, {} expected (last offset of the batch at {})", offset.value(),
                              batch->header.last_offset().value(), entry.position));
        }
        return true;
      });
  report.line("end: {} entries", entries);
}

void dump_time_index(io::File& file, Offset base, io::File* log, DumpReport& report) {
  LogCursor cursor(log);
  TimeIndexEntry before{no_timestamp, -1};
  uint64_t entries = 0;
  for_each_entry(
      file, TimeIndexEntry::size_bytes, report, [&](uint64_t number, uint64_t at, const std::byte* bytes) {
        const TimeIndexEntry entry = TimeIndexEntry::load(bytes);
        if (entry.is_zero()) {
          report_zeros(file, at, report);
          return false;
        }
        const Offset offset = base + entry.relative_offset;
        report.line("entry {} time={} offset={}", number, readable_time(entry.timestamp), offset.value());
        ++entries;
        if (entry.timestamp < before.timestamp || entry.relative_offset < before.relative_offset) {
          report.problem(at, fmt::format("time {} offset {} found, {} and {} or more expected",
                                         entry.timestamp.value(), offset.value(), before.timestamp.value(),
                                         (base + before.relative_offset).value()));
        }
        before = entry;
        if (!cursor.is_there()) return true;
        const auto batch =
            cursor.advance([&](const storage::BatchAt& one) { return one.header.last_offset() >= offset; });
        if (!batch || batch->header.base_offset > offset) {
          report.problem(at, fmt::format("offset {} found, which the log has not", offset.value()));
        } else if (batch->header.max_timestamp != entry.timestamp) {
          report.problem(
              at, fmt::format("time {} found, {} expected (of the batch with offset {})",
                              entry.timestamp.value(), batch->header.max_timestamp.value(), offset.value()));
        }
        return true;
      });
  report.line("end: {} entries", entries);
}

void dump_transaction_index(io::File& file, DumpReport& report) {
  Offset before = no_offset;
  uint64_t entries = 0;
  for_each_entry(file, storage::transaction_index::entry_bytes, report,
                 [&](uint64_t number, uint64_t at, const std::byte* bytes) {
                   const auto entry = storage::transaction_index::load(bytes);
                   if (!entry) {
                     report.problem(at, entry.error().message);
                     return true;
                   }
                   ++entries;
                   report.line("entry {} producerId={} firstOffset={} lastOffset={} lastStableOffset={}",
                               number, entry->producer_id.value(), entry->first_offset.value(),
                               entry->last_offset.value(), entry->last_stable_offset.value());
                   if (entry->last_offset <= before || entry->first_offset > entry->last_offset) {
                     report.problem(at, fmt::format("offsets {} to {} found, an end above {} expected",
                                                    entry->first_offset.value(), entry->last_offset.value(),
                                                    before.value()));
                   }
                   before = entry->last_offset;
                   return true;
                 });
  report.line("end: {} entries", entries);
}

}  // namespace barnabas::tools
