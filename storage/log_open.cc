#include <algorithm>
#include <limits>

#include "storage/log_state.h"

namespace barnabas::storage {
namespace {

std::string format_partition_metadata(const Uuid& topic_id) {
  return "version: 0\ntopic_id: " + topic_id.to_string();
}

Result<Uuid> parse_partition_metadata(std::string_view text) {
  constexpr std::string_view version = "version: 0\n", key = "topic_id: ";
  if (!text.starts_with(version) || !text.substr(version.size()).starts_with(key))
    return fail(ErrorKind::corrupt,
                "partition.metadata: unexpected \"" + std::string(text.substr(0, 60)) + "\"");
  std::string_view id = text.substr(version.size() + key.size());
  if (id.ends_with('\n')) id.remove_suffix(1);
  return Uuid::parse(id);
}

constexpr uint64_t partition_metadata_bytes_max = 4096;
constexpr uint64_t segment_bytes_max = std::numeric_limits<int32_t>::max();

Result<void> write_partition_metadata(LogState& log, const Uuid& topic_id) {
  const std::string path = log.files->path(partition_metadata_name);
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, log.disk().open(path, io::OpenMode::create));
  BARNABAS_TRY(file->truncate(0));
  BARNABAS_TRY(file->write_at(as_byte_view(format_partition_metadata(topic_id)), 0));
  log.metadata_dirty = log.directory_dirty = true;
  log.topic_id = topic_id;
  log.topic_id_loaded = true;
  return {};
}

// The file may be missing, or empty after a power cut; the metadata know the id.
Result<void> ensure_partition_metadata(LogState& log, const Log::OpenOptions& options, bool there) {
  if (there && options.clean) return {};
  if (there) {
    BARNABAS_ASSIGN(
        const std::string text,
        io::read_file(log.disk(), log.files->path(partition_metadata_name), partition_metadata_bytes_max));
    if (parse_partition_metadata(text)) return {};
  }
  if (options.topic_id.is_zero()) return {};
  return write_partition_metadata(log, options.topic_id);
}

Result<std::vector<io::DirectoryEntry>> list_or_make(LogState& log) {
  const std::string directory = log.files->directory();
  auto entries = log.disk().list(directory);
  if (entries || entries.error().kind != ErrorKind::not_found) return entries;
  BARNABAS_TRY(log.disk().create_directories(directory));
  log.parent_dirty = log.directory_dirty = true;
  return std::vector<io::DirectoryEntry>{};
}

Result<void> load_segments(LogState& log, const std::vector<std::string>& names,
                           const Log::OpenOptions& options) {
  std::vector<Offset> bases, with_aborted;
  for (const std::string& name : names) {
    if (auto base = offset_of_file_name(name, log_suffix)) bases.push_back(*base);
    if (auto base = offset_of_file_name(name, transaction_index_suffix)) with_aborted.push_back(*base);
    if (auto snapshot = offset_of_file_name(name, producer_snapshot_suffix))
      log.snapshots.push_back(*snapshot);
  }
  std::ranges::sort(bases);
  std::ranges::sort(log.snapshots);
  log.segments.reserve(std::max<std::size_t>(bases.size(), 1));
  for (const Offset base : bases) {
    const std::string path = log.files->path(base, log_suffix);
    BARNABAS_ASSIGN(const uint64_t size, log.disk().file_size(path));
    if (size > segment_bytes_max)
      return fail(ErrorKind::corrupt,
                  path + ": " + std::to_string(size) + " bytes, more than any segment has");
    log.segments.push_back(std::make_shared<LogSegment>(log.files, base, size, options.now));
    log.segments.back()->set_may_have_aborted(std::ranges::find(with_aborted, base) != with_aborted.end());
  }
  if (!bases.empty()) return {};
  BARNABAS_ASSIGN(auto segment, LogSegment::create(log.files, options.log_start_offset, options.now));
  log.segments.push_back(std::move(segment));
  log.directory_dirty = log.changed_since_open = true;
  return {};
}

// The log end after a clean stop. Two witnesses that agree, checkpoint and snapshot, save looking into the
// files; nullopt when the files do not look like a clean stop.
Result<std::optional<Offset>> find_clean_end(LogState& log, Offset recovery_point) {
  LogSegment& segment = log.active();
  if (segment.size() == 0) return segment.base_offset();
  if (recovery_point > segment.base_offset() && !log.snapshots.empty() &&
      log.snapshots.back() == recovery_point) {
    // A snapshot between the two was made when another segment began there: its file is missing.
    const bool begun_after = log.snapshots.size() > 1 && log.snapshots.rbegin()[1] > segment.base_offset();
    if (!begun_after) return recovery_point;
  }
  const auto near = segment.batch_start_before(segment.size());
  if (!near && near.error().kind == ErrorKind::corrupt) return std::nullopt;
  if (!near) return std::unexpected(near.error());
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment.file());
  HeaderScanner scanner(*file, near->position, segment.size());
  bool first = true;
  std::optional<Offset> end;
  while (true) {
    const auto batch = scanner.next();
    if (!batch && batch.error().kind == ErrorKind::io) return std::unexpected(batch.error());
    if (!batch || (first && !near->fits(batch))) return std::nullopt;
    first = false;
    if (!*batch) return end;
    if ((*batch)->header.base_offset < end.value_or(segment.base_offset())) return std::nullopt;
    end = (*batch)->header.next_offset();
  }
}

Result<bool> open_clean(LogState& log, const Log::OpenOptions& options) {
  BARNABAS_ASSIGN(const auto end, find_clean_end(log, options.recovery_point));
  if (!end) return false;
  log.log_end.store(*end);
  log.recovery_point.store(*end);
  for (const auto& segment : log.segments) segment->assume_synced();
  log.truncate_snapshots(*end);
  // A log that never had a record was closed without a sync.
  if (*end == Offset{0}) log.metadata_dirty = log.directory_dirty = log.parent_dirty = true;
  return true;
}

Result<std::unique_ptr<LogState>> open_log(io::Disk& disk, FilePool& pool, std::string directory,
                                           const Log::OpenOptions& options) {
  auto log = std::make_unique<LogState>(disk, pool, std::move(directory), options);
  BARNABAS_ASSIGN(const std::vector<io::DirectoryEntry> entries, list_or_make(*log));
  BARNABAS_ASSIGN(const std::vector<std::string> names, clean_leftovers(*log->files, entries));
  BARNABAS_TRY(load_segments(*log, names, options));
  const bool has_metadata = std::ranges::find(names, partition_metadata_name) != names.end();
  BARNABAS_TRY(ensure_partition_metadata(*log, options, has_metadata));

  bool clean = options.clean;
  if (clean) {
    BARNABAS_ASSIGN(clean, open_clean(*log, options));
  }
  if (!clean) BARNABAS_TRY(recover(*log, options.recovery_point));

  if (log->log_end.load() < options.recovery_point && options.recovery_point > options.log_start_offset)
    log->recovery.durable_end = options.recovery_point;
  if (log->log_end.load() < options.log_start_offset) {
    // The checkpoint says that these were all deleted.
    BARNABAS_TRY(log->start_anew(options.log_start_offset, options.now));
  }
  log->log_start.store(std::max(options.log_start_offset, log->segments.front()->base_offset()));
  // A checkpoint beyond what a power cut has left says nothing any more.
  if (options.cleaned_to && *options.cleaned_to <= log->log_end.load()) log->cleaned_to = options.cleaned_to;
  if (log->epochs_loaded) {
    log->epochs.truncate_from_start(log->log_start.load());
    const auto latest = log->epochs.latest();
    log->latest_epoch.store(latest ? latest->epoch : no_leader_epoch);
  }
  log->note_policy();
  return log;
}

}  // namespace

Result<std::unique_ptr<Log>> Log::open(io::Disk& disk, FilePool& files, std::string directory,
                                       OpenOptions options) {
  BARNABAS_ASSIGN(std::unique_ptr<LogState> state, open_log(disk, files, std::move(directory), options));
  // Segments that were dropped must not come back, either: in a compacted log nobody would see that they do
  // not belong to what is written from now on.
  const bool recovered = state->recovery.scanned && (state->log_end.load() > state->recovery_point.load() ||
                                                     state->recovery.segments_removed > 0);
  std::unique_ptr<Log> log(new Log(std::move(state)));
  // What a recovery found may be shown to consumers from now on, so it must not be lost to the next power
  // cut.
  if (!recovered || options.flush_later) return log;
  if (auto flushed = log->flush(); !flushed && flushed.error().kind != ErrorKind::no_space)
    return std::unexpected(std::move(flushed).error());
  return log;
}

Result<Uuid> Log::topic_id() {
  LogState& log = *state_;
  std::lock_guard lock(log.mutex);
  if (log.topic_id_loaded) return log.topic_id;
  auto text =
      io::read_file(log.disk(), log.files->path(partition_metadata_name), partition_metadata_bytes_max);
  if (!text && text.error().kind != ErrorKind::not_found) return std::unexpected(std::move(text).error());
  if (text) {
    BARNABAS_ASSIGN(log.topic_id, parse_partition_metadata(*text));
  }
  log.topic_id_loaded = true;
  return log.topic_id;
}

Result<void> Log::set_topic_id(const Uuid& topic_id) {
  std::lock_guard lock(state_->mutex);
  return write_partition_metadata(*state_, topic_id);
}

}  // namespace barnabas::storage
