#include "tools/check/check_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/log.h"
#include "io/system_error.h"
#include "storage/batch_scanner.h"
#include "storage/leader_epoch_cache.h"
#include "storage/log_files.h"
#include "tools/dump/dump.h"

namespace barnabas::tools {
namespace {

constexpr uint64_t small_file_bytes_max = uint64_t{64} << 20;

class PartitionCheck {
 public:
  PartitionCheck(io::Disk& disk, const std::string& directory, const PartitionContext& context,
                 Findings& findings)
      : disk_(disk), directory_(directory), context_(context), findings_(findings) {}

  std::vector<CheckedSegment> run() {
    if (!list_files()) return {};
    load_epochs();
    for (std::size_t i = 0; i < segments_.size(); ++i) check_segment(segments_[i], may_be_torn(i));
    if (segments_.empty() &&
        context_.recovery_point.value_or(Offset{0}) > context_.log_start.value_or(Offset{0}))
      problem(directory_, fmt::format("no segment found, records up to offset {} expected (recovery point)",
                                      context_.recovery_point->value()));
    check_order();
    check_snapshots();
    check_epochs_end();
    check_checkpoints();
    check_topic_id();
    ++findings_.partitions;
    return std::move(segments_);
  }

 private:
  void problem(const std::string& path, const std::string& text) { findings_.problem(path, text); }
  /// Of a kind that a crash leaves and the next start heals.
  void heals(const std::string& path, const std::string& text) {
    if (context_.clean)
      findings_.problem(path, text);
    else
      findings_.note(path, text + "; the next start makes it good");
  }
  std::string path_of(std::string_view name) const { return directory_ + "/" + std::string(name); }
  bool has(const std::string& name) const { return std::ranges::binary_search(names_, name); }

  bool list_files() {
    const auto entries = disk_.list(directory_);
    if (!entries) {
      problem(directory_, entries.error().message);
      return false;
    }
    for (const io::DirectoryEntry& entry : *entries)
      if (!entry.is_directory) names_.push_back(entry.name);
    std::ranges::sort(names_);
    for (const std::string& name : names_) {
      if (const auto base = storage::offset_of_file_name(name, storage::log_suffix))
        segments_.push_back({path_of(name), *base, 0, *base});
      for (const auto suffix : {storage::cleaned_suffix, storage::swap_suffix, storage::deleted_suffix})
        if (name.ends_with(suffix))
          findings_.note(path_of(name),
                         "left by a compaction or deletion that was under way; the next start deals with it");
    }
    return true;
  }

  /// A crash spoils what lies behind the recovery point, in the last segment as a rule.
  bool may_be_torn(std::size_t i) const {
    if (i + 1 == segments_.size()) return true;
    return !context_.clean && segments_[i + 1].base_offset > context_.recovery_point.value_or(Offset{0});
  }

  void load_epochs() {
    const std::string path = path_of(storage::leader_epoch_checkpoint_name);
    if (!has(std::string(storage::leader_epoch_checkpoint_name))) return;
    const auto text = io::read_file(disk_, path, small_file_bytes_max);
    if (!text) return problem(path, text.error().message);
    auto parsed = storage::LeaderEpochCache::parse(*text);
    if (!parsed) return heals(path, parsed.error().message);
    epochs_ = std::move(*parsed);
  }

  void check_segment(CheckedSegment& segment, bool may_be_torn) {
    const auto file = disk_.open(segment.path, io::OpenMode::read);
    if (!file) return problem(segment.path, file.error().message);
    const auto size = (*file)->size();
    if (!size) return problem(segment.path, size.error().message);
    ++findings_.segments;
    segment.good_bytes = *size;
    if (may_be_torn) find_good_end(**file, segment, *size);
    walk_headers(**file, segment);
    if (context_.contents) {
      DumpOptions options;
      options.decode = true;
      options.end = segment.good_bytes;
      findings_.bytes += segment.good_bytes;
      dump(segment.path, options);
    }
    check_indexes(segment, may_be_torn);
  }

  void find_good_end(io::File& file, CheckedSegment& segment, uint64_t size) {
    if (!context_.contents) return;
    storage::BatchVerifier verifier(file, segment.base_offset, size);
    while (true) {
      const auto batch = verifier.next();
      if (!batch) return problem(segment.path, batch.error().message);
      if (!*batch) break;
    }
    segment.good_bytes = verifier.position();
    if (segment.good_bytes == size) return;
    const std::string text = fmt::format("{}; {} bytes from offset {} on are not good", verifier.damage(),
                                         size - segment.good_bytes, verifier.next_offset().value());
    const Offset durable = context_.recovery_point.value_or(Offset{0});
    if (context_.clean || verifier.next_offset() < durable) {
      problem(segment.path,
              text + fmt::format("; records up to offset {} had been made durable", durable.value()));
    } else {
      findings_.note(segment.path, text + "; torn by a crash, the next start cuts them off");
    }
  }

  void walk_headers(io::File& file, CheckedSegment& segment) {
    storage::HeaderScanner scanner(file, 0, segment.good_bytes);
    while (true) {
      const auto batch = scanner.next();
      if (!batch) {
        if (!context_.contents) problem(segment.path, batch.error().message);
        return;  // the contents are read all the same and tell
      }
      if (!*batch) return;
      const auto& header = (*batch)->header;
      gaps_within_ |= header.base_offset != segment.next_offset;
      segment.next_offset = std::max(segment.next_offset, header.next_offset());
      check_epoch(segment, header);
    }
  }

  void check_epoch(const CheckedSegment& segment, const protocol::RecordBatchHeader& header) {
    const LeaderEpoch epoch = header.partition_leader_epoch;
    if (epoch < LeaderEpoch{0}) return;
    if (epoch < last_epoch_)
      problem(segment.path, fmt::format("leader epoch {} found at offset {}, {} or more expected",
                                        epoch.value(), header.base_offset.value(), last_epoch_.value()));
    last_epoch_ = epoch;
    // The file forgets what lies below the log start.
    const Offset served = std::max(header.base_offset, context_.log_start.value_or(Offset{0}));
    if (!epochs_ || served >= header.next_offset() || epoch == compared_epoch_) return;
    compared_epoch_ = epoch;
    const auto known = epochs_->epoch_of(served);
    if (known && *known == epoch) return;
    heals(path_of(storage::leader_epoch_checkpoint_name),
          fmt::format("epoch {} found for offset {}, {} expected (from its batch)",
                      known ? std::to_string(known->value()) : "none", served.value(), epoch.value()));
  }

  /// Indexes are derived: whoever opens the log makes a missing one again.
  void check_indexes(const CheckedSegment& segment, bool may_be_torn) {
    for (const auto suffix :
         {storage::offset_index_suffix, storage::time_index_suffix, storage::transaction_index_suffix}) {
      const std::string name = storage::segment_file_name(segment.base_offset, suffix);
      if (!has(name)) {
        if (segment.good_bytes > 0 && suffix != storage::transaction_index_suffix)
          findings_.note(path_of(name), "not there; it is made again when the log is opened");
        continue;
      }
      DumpOptions options;
      options.cross_check = context_.contents;
      // May be behind the log, or in front of it; a start without the clean mark makes it anew.
      if (may_be_torn && !context_.clean) continue;
      dump(path_of(name), options);
    }
  }

  void check_order() {
    for (std::size_t i = 1; i < segments_.size(); ++i) {
      const auto& before = segments_[i - 1];
      const auto& next = segments_[i];
      if (next.base_offset < before.next_offset) {
        problem(next.path,
                fmt::format("begins at offset {}, {} or more expected: the segment before ends there",
                            next.base_offset.value(), before.next_offset.value()));
      } else if (next.base_offset > before.next_offset) {
        // Compaction takes records out of the middle of segments, too.
        const std::string text = fmt::format("begins at offset {}, the segment before ends at {}",
                                             next.base_offset.value(), before.next_offset.value());
        if (gaps_within_)
          findings_.note(next.path, text + ": compacted");
        else
          problem(next.path, text + ": a segment is missing");
      }
    }
  }

  void check_snapshots() {
    for (const std::string& name : names_) {
      const auto offset = storage::offset_of_file_name(name, storage::producer_snapshot_suffix);
      if (!offset) continue;
      if (*offset > end())
        heals(path_of(name), fmt::format("a snapshot at offset {} found, the log ends at {}", offset->value(),
                                         end().value()));
      dump(path_of(name), {});
    }
  }

  void check_epochs_end() {
    if (!epochs_) return;
    const auto latest = epochs_->latest();
    if (latest && latest->start_offset > end())
      heals(path_of(storage::leader_epoch_checkpoint_name),
            fmt::format("epoch {} begins at offset {}, the log ends at {}", latest->epoch.value(),
                        latest->start_offset.value(), end().value()));
  }

  void check_checkpoints() {
    const auto check = [&](const std::optional<Offset>& offset, std::string_view what, bool is_damage) {
      if (!offset || *offset <= end() || (segments_.empty() && is_damage)) return;
      const std::string text = fmt::format("the log ends at offset {}, {} or more expected ({})",
                                           end().value(), offset->value(), what);
      if (is_damage)
        problem(directory_, text);
      else
        heals(directory_, text);
    };
    check(context_.recovery_point, "recovery point", true);
    check(context_.high_watermark, "high watermark", false);
  }

  void check_topic_id() {
    const std::string name(storage::partition_metadata_name);
    if (!has(name)) return;
    const std::string path = path_of(name);
    DumpReport report(path, findings_.out());
    dump_file(disk_, {}, report);
    findings_.add_problems(report.problems());
    if (!context_.topic_id || report.problems() > 0) return;
    const auto text = io::read_file(disk_, path, small_file_bytes_max);
    if (text && text->find(context_.topic_id->to_string()) == std::string::npos)
      problem(path, fmt::format("\"{}\" found, topic id {} expected (from the metadata log)",
                                log_text(*text, 80), context_.topic_id->to_string()));
  }

  void dump(const std::string& path, const DumpOptions& options) {
    DumpReport report(path, findings_.out());
    dump_file(disk_, options, report);
    findings_.add_problems(report.problems());
  }

  Offset end() const {
    return segments_.empty() ? context_.log_start.value_or(Offset{0}) : segments_.back().next_offset;
  }

  io::Disk& disk_;
  const std::string& directory_;
  const PartitionContext& context_;
  Findings& findings_;
  std::vector<std::string> names_;  // sorted
  std::vector<CheckedSegment> segments_;
  std::optional<storage::LeaderEpochCache> epochs_;
  LeaderEpoch last_epoch_{-1};
  LeaderEpoch compared_epoch_{-1};  ///< the newest that was looked up in the epoch file
  bool gaps_within_ = false;        // of offsets, inside of segments
};

}  // namespace

std::vector<CheckedSegment> check_partition(io::Disk& disk, const std::string& directory,
                                            const PartitionContext& context, Findings& findings) {
  return PartitionCheck(disk, directory, context, findings).run();
}

}  // namespace barnabas::tools
