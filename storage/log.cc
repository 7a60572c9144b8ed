#include "storage/log.h"

#include <algorithm>

#include "storage/log_state.h"

namespace barnabas::storage {

std::string RecoveryReport::to_string() const {
  std::string text =
      scanned ? "verified " + std::to_string(scanned_bytes) + " bytes" : "opened without a scan";
  if (!lossless())
    text += ", dropped " + std::to_string(truncated_bytes) + " bytes from offset " +
            std::to_string(truncated_at.value()) + " on and " + std::to_string(segments_removed) +
            " whole segments (" + reason + ")";
  return text;
}

// --- LogState ----------------------------------------------------------------------------------------------

LogState::LogState(io::Disk& disk, FilePool& pool, std::string directory, const Log::OpenOptions& options)
    : files(std::make_shared<LogFiles>(disk, pool, std::move(directory))),
      topic(options.topic),
      partition(options.partition),
      changes(options.changes),
      candidates(options.candidates),
      config(options.config) {}

Result<void> LogState::check_writable() const {
  if (closed.load(std::memory_order_acquire))
    return fail(ErrorKind::closed, files->directory() + " is closed");
  if (broken.load(std::memory_order_acquire))
    return fail(ErrorKind::offline, files->directory() + ": a write or sync failed earlier");
  return {};
}

std::unexpected<Error> LogState::broken_by(Error error) {
  broken.store(true, std::memory_order_release);
  // Whatever the device said, this is no longer a matter of room.
  if (error.kind == ErrorKind::no_space) error.kind = ErrorKind::io;
  return fail(files->directory() + " is offline now", std::move(error));
}

std::size_t LogState::segment_index(Offset offset) const {
  const auto after = std::ranges::upper_bound(segments, offset, {}, &LogSegment::base_offset);
  return after == segments.begin() ? 0 : static_cast<std::size_t>(after - segments.begin()) - 1;
}

void LogState::load_epochs() {
  if (epochs_loaded) return;
  epochs_loaded = true;
  // Unreadable batches show when somebody reads them; until then no epochs are known.
  if (auto read = read_epochs(*this, segments.size())) epochs = std::move(read).value();
  epochs.truncate_from_end(log_end.load());
  epochs.truncate_from_start(log_start.load());
  const auto latest = epochs.latest();
  latest_epoch.store(latest ? latest->epoch : no_leader_epoch);
}

void LogState::note_epoch(LeaderEpoch epoch, Offset start) {
  load_epochs();
  const auto known = epochs.latest();
  if (known && epoch <= known->epoch) return;
  if (epochs.assign(epoch, start)) epochs_dirty = changed_since_open = true;
  const auto latest = epochs.latest();
  latest_epoch.store(latest ? latest->epoch : no_leader_epoch);
}

// --- Log: plain answers ------------------------------------------------------------------------------------

Log::Log(std::unique_ptr<LogState> state) : state_(std::move(state)) {}
Log::~Log() = default;

Offset Log::log_start_offset() const {
  return state_->log_start.load(std::memory_order_acquire);
}
Offset Log::log_end_offset() const {
  return state_->log_end.load(std::memory_order_acquire);
}
Offset Log::recovery_point() const {
  return state_->recovery_point.load(std::memory_order_acquire);
}
bool Log::broken() const {
  return state_->broken.load(std::memory_order_acquire);
}
const std::string& Log::topic() const {
  return state_->topic;
}
PartitionIndex Log::partition() const {
  return state_->partition;
}
std::string Log::directory() const {
  return state_->files->directory();
}
const RecoveryReport& Log::recovery() const {
  return state_->recovery;
}

LeaderEpoch Log::latest_epoch() {
  std::lock_guard lock(state_->mutex);
  state_->load_epochs();
  return state_->latest_epoch.load();
}

EpochEnd Log::end_offset_for_epoch(LeaderEpoch epoch) {
  std::lock_guard lock(state_->mutex);
  state_->load_epochs();
  return state_->epochs.end_offset(epoch, state_->log_end.load());
}

LeaderEpoch Log::epoch_of(Offset offset) {
  std::lock_guard lock(state_->mutex);
  state_->load_epochs();
  return state_->epochs.epoch_of(offset).value_or(no_leader_epoch);
}

void Log::assign_epoch_start(LeaderEpoch epoch, Offset start) {
  std::lock_guard lock(state_->append_mutex);
  std::lock_guard state_lock(state_->mutex);
  state_->note_epoch(epoch, start);
}

void Log::note_high_watermark() const {
  state_->note_change();
}

uint64_t Log::size_bytes() const {
  std::lock_guard lock(state_->mutex);
  uint64_t total = 0;
  for (const auto& segment : state_->segments) total += segment->size();
  return total;
}

std::vector<SegmentInfo> Log::segments() const {
  std::lock_guard lock(state_->mutex);
  std::vector<SegmentInfo> infos;
  for (const auto& segment : state_->segments) infos.push_back({segment->base_offset(), segment->size()});
  return infos;
}

std::shared_ptr<const LogConfig> Log::config() const {
  std::lock_guard lock(state_->mutex);
  return state_->config;
}

void Log::set_config(std::shared_ptr<const LogConfig> config) {
  std::lock_guard lock(state_->append_mutex);
  std::lock_guard state_lock(state_->mutex);
  state_->config = std::move(config);
  state_->note_policy();
}

Result<void> Log::rename_directory(const std::string& directory) {
  LogState& log = *state_;
  std::lock_guard flush_lock(log.flush_mutex);
  std::lock_guard lock(log.append_mutex);
  log.closed.store(true, std::memory_order_release);
  BARNABAS_TRY(log.files->rename_directory(directory));
  std::lock_guard state_lock(log.mutex);
  for (const auto& segment : log.segments) segment->release_files();
  return {};
}

}  // namespace barnabas::storage
