#include "broker/partition.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"

namespace barnabas::broker {
namespace {

/// Whoever waits looks again.
constexpr Progress everything{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()};

}  // namespace

void WaitingPartitions::add(std::shared_ptr<Partition> partition) {
  const std::scoped_lock lock(mutex_);
  partitions_.insert(std::move(partition));
}

void WaitingPartitions::remove(const std::shared_ptr<Partition>& partition) {
  const std::scoped_lock lock(mutex_);
  partitions_.erase(partition);
}

void WaitingPartitions::expire(Instant now) {
  std::vector<std::shared_ptr<Partition>> partitions;
  {
    const std::scoped_lock lock(mutex_);
    partitions.assign(partitions_.begin(), partitions_.end());
  }
  for (const auto& partition : partitions) partition->expire_waits(now);
}

std::size_t WaitingPartitions::size() const {
  const std::scoped_lock lock(mutex_);
  return partitions_.size();
}

Partition::Partition(storage::TopicPartition name, Uuid topic_id, std::shared_ptr<storage::Log> log,
                     LeaderEpoch leader_epoch, std::shared_ptr<const TopicSettings> settings,
                     PartitionServices& services)
    : name_(std::move(name)),
      topic_id_(topic_id),
      log_(log.get()),
      services_(services),
      leader_epoch_(leader_epoch.value()),
      settings_(std::move(settings)),
      high_watermark_(log->log_end_offset().value()) {
  if (log->latest_epoch() < leader_epoch) log->assign_epoch_start(leader_epoch, log->log_end_offset());
  logs_.push_back(std::move(log));
}

template <class Change>
auto Partition::change_log(Change change) {
  while (true) {
    storage::Log& present = log();
    auto changed = change(present);
    if (&present == &log()) return changed;
    // It was left while this ran. What was changed before that has moved along, and once more does no harm;
    // what came too late was refused, but for settings.
  }
}

void Partition::set_leader_epoch(LeaderEpoch epoch) {
  if (leader_epoch_.exchange(epoch.value(), std::memory_order_acq_rel) >= epoch.value()) return;
  change_log([&](storage::Log& log) {
    log.assign_epoch_start(epoch, log.log_end_offset());
    return true;
  });
}

protocol::ErrorCode Partition::check_leader_epoch(LeaderEpoch claimed) const {
  const LeaderEpoch current = leader_epoch();
  if (claimed == no_leader_epoch || claimed == current) return protocol::ErrorCode::none;
  return claimed < current ? protocol::ErrorCode::fenced_leader_epoch
                           : protocol::ErrorCode::unknown_leader_epoch;
}

void Partition::set_settings(std::shared_ptr<const TopicSettings> settings) {
  change_log([&](storage::Log& log) {
    log.set_config(std::shared_ptr<const storage::LogConfig>(settings, &settings->log));
    return true;
  });
  const std::scoped_lock lock(settings_mutex_);
  settings_ = std::move(settings);
}

void Partition::deactivate(const Error& error) {
  active_.store(false, std::memory_order_release);
  std::vector<DurableWait> waits;
  {
    const std::scoped_lock lock(sync_mutex_);
    waits = std::exchange(durable_waits_, {});
  }
  for (DurableWait& wait : waits) wait.done(std::unexpected(error));
  tell_waiters(everything);
}

Result<storage::AppendResult> Partition::append(MutableByteView batch, bool wait_for_disk, TimestampMs now,
                                                storage::AppendOrigin origin,
                                                const storage::TransactionCheck& transaction) {
  if (!active()) return fail(ErrorKind::offline, name_.to_string() + " is no longer here");
  storage::Log* log = log_.load(std::memory_order_acquire);
  auto appended = log->append_as_leader(batch, leader_epoch(), now, origin, transaction);
  while (!appended && appended.error().kind == ErrorKind::closed &&
         log != log_.load(std::memory_order_acquire)) {
    log = log_.load(std::memory_order_acquire);
    appended = log->append_as_leader(batch, leader_epoch(), now, origin, transaction);
  }
  if (!appended) {
    const ErrorKind kind = appended.error().kind;
    if (kind == ErrorKind::io || kind == ErrorKind::offline)
      services_.report_failure(name_, appended.error());
    return appended;
  }
  if (!appended->duplicate) {
    appended_bytes_.fetch_add(batch.size(), std::memory_order_relaxed);
    count(Traffic::bytes_in, batch.size());
    count(Traffic::messages_in, static_cast<uint64_t>(appended->last_offset - appended->base_offset + 1));
  }
  if (!wait_for_disk || !services_.flush_before_ack) raise_high_watermark(appended->last_offset + 1);
  return appended;
}

Result<storage::AppendResult> Partition::append_marker(const protocol::TransactionMarker& marker,
                                                       TimestampMs now) {
  std::vector<std::byte> batch = protocol::transaction_marker_batch(marker, now);
  return append(batch, true, now, storage::AppendOrigin::coordinator,
                {.marker_version = marker.transaction_version});
}

Result<storage::VerificationGuard> Partition::begin_verification(const storage::TransactionBegin& batch,
                                                                 TimestampMs now) {
  if (!active()) return fail(ErrorKind::offline, name_.to_string() + " is no longer here");
  const storage::VerificationGuard fresh{guards_given_.fetch_add(1, std::memory_order_relaxed) + 1};
  return change_log([&](storage::Log& log) { return log.begin_verification(batch, fresh, now); });
}

void Partition::refuse_verification(ProducerId id, storage::VerificationGuard guard) {
  change_log([&](storage::Log& log) {
    log.refuse_verification(id, guard);
    return true;
  });
}

Result<Offset> Partition::delete_records_before(Offset offset) {
  auto start = change_log([&](storage::Log& log) { return log.delete_records_before(offset); });
  if (start) tell_waiters({});
  return start;
}

void Partition::raise_high_watermark(Offset to) {
  int64_t seen = high_watermark_.load(std::memory_order_relaxed);
  while (seen < to.value()) {
    // Sequentially consistent together with waiter_count_: either the waiter sees the new high watermark, or
    // this thread sees the waiter.
    if (high_watermark_.compare_exchange_weak(seen, to.value(), std::memory_order_seq_cst)) {
      log().note_high_watermark();
      if (waiter_count_.load(std::memory_order_seq_cst) != 0) announce_progress();
      return;
    }
  }
}

bool Partition::add_waiter(const std::shared_ptr<ProgressWaiter>& waiter, Offset seen, WaiterHandle& handle) {
  const std::scoped_lock lock(waiter_mutex_);
  if (waiters_.empty()) progress_since_announced();
  waiter_count_.fetch_add(1, std::memory_order_seq_cst);
  if (high_watermark_.load(std::memory_order_seq_cst) != seen.value() || !active()) {
    waiter_count_.fetch_sub(1, std::memory_order_seq_cst);
    return false;
  }
  handle = waiters_.insert(waiters_.end(), waiter);
  return true;
}

void Partition::remove_waiter(WaiterHandle handle) {
  const std::scoped_lock lock(waiter_mutex_);
  waiters_.erase(handle);
  waiter_count_.fetch_sub(1, std::memory_order_seq_cst);
}

// With waiter_mutex_ held, so that what is announced is never older than what was announced before.
Progress Partition::progress_since_announced() {
  const Offset high_watermark = this->high_watermark();
  const Offset stable = log().last_stable_offset(high_watermark);
  const uint64_t appended = appended_bytes_.load(std::memory_order_relaxed);
  Progress progress{.bytes = appended > announced_bytes_ ? appended - announced_bytes_ : 1};
  const bool was_held_back = announced_stable_ < announced_high_watermark_;
  if (stable > announced_stable_)
    progress.committed_bytes = was_held_back || stable < high_watermark ? everything.bytes : progress.bytes;
  announced_bytes_ = appended;
  announced_high_watermark_ = high_watermark;
  announced_stable_ = stable;
  return progress;
}

void Partition::announce_progress() {
  Progress progress;
  {
    const std::scoped_lock lock(waiter_mutex_);
    progress = progress_since_announced();
  }
  tell_waiters(progress);
}

void Partition::tell_waiters(const Progress& progress) {
  std::vector<std::shared_ptr<ProgressWaiter>> awake;
  {
    const std::scoped_lock lock(waiter_mutex_);
    awake.reserve(waiters_.size());
    for (const auto& weak : waiters_)
      if (auto waiter = weak.lock()) awake.push_back(std::move(waiter));
  }
  for (const auto& waiter : awake) waiter->on_progress(progress);
}

void Partition::when_durable(Offset end, Instant deadline, DurableDone done) {
  // In this order: whoever finds a log that has taken over finds what acknowledging it takes, too.
  const bool on_disk = log().recovery_point() >= end;
  if (on_disk && !log_is_not_enough_.load(std::memory_order_acquire)) {
    raise_high_watermark(end);
    return done({});
  }
  bool here = false;
  bool start = false;
  {
    const std::scoped_lock lock(sync_mutex_);
    here = active();
    if (here) durable_waits_.push_back({end, deadline, std::move(done)});
    start = here && !sync_running_ && !held_;
    if (start) set_sync_running(true);
  }
  if (start) start_sync();
  if (!here) done(fail(ErrorKind::offline, name_.to_string() + " is no longer here"));
}

// With sync_mutex_ held, so that the two never part.
void Partition::set_sync_running(bool running) {
  sync_running_ = running;
  const bool waits = sync_running_ || held_;
  if (std::exchange(is_waiting_, waits) == waits) return;
  waits ? services_.waiting.add(shared_from_this()) : services_.waiting.remove(shared_from_this());
}

void Partition::start_sync() {
  if (services_.disk_pool.submit([self = shared_from_this()] { self->run_sync(); })) return;
  std::vector<DurableWait> waits;
  {
    const std::scoped_lock lock(sync_mutex_);
    waits = std::exchange(durable_waits_, {});
    set_sync_running(false);
    ++syncs_ended_;
    sync_ended_.notify_all();
  }
  const Error error{ErrorKind::closed, "the disk pool takes no more work"};
  for (DurableWait& wait : waits) wait.done(std::unexpected(error));
}

void Partition::run_sync() {
  std::shared_ptr<Mirror> mirror;
  {
    const std::scoped_lock lock(sync_mutex_);
    mirror = mirror_;
  }
  const auto durable = log().flush();
  bool mirrored = true;
  if (!durable) {
    services_.report_failure(name_, durable.error());
  } else {
    mirrored = mirror == nullptr || mirror->follow(*durable).has_value();
    if (mirrored) raise_high_watermark(*durable);
  }
  bool more = false;
  std::vector<DurableWait> finished = take_finished(durable, mirrored, more);
  // Those who came during this sync need another one; it starts before the finished ones are told, so that
  // the device has no pause.
  if (more) start_sync();
  const Result<void> outcome = durable ? Result<void>{} : Result<void>(std::unexpected(durable.error()));
  for (DurableWait& wait : finished) wait.done(outcome);
}

// With sync_mutex_ held.
template <class Predicate>
std::vector<Partition::DurableWait> Partition::take_waits(Predicate is_finished) {
  std::vector<DurableWait> finished;
  const auto waiting = std::ranges::stable_partition(durable_waits_, is_finished);
  finished.reserve(durable_waits_.size() - waiting.size());
  std::move(durable_waits_.begin(), waiting.begin(), std::back_inserter(finished));
  durable_waits_.erase(durable_waits_.begin(), waiting.begin());
  return finished;
}

void Partition::expire_waits(Instant now) {
  std::vector<DurableWait> expired;
  {
    const std::scoped_lock lock(sync_mutex_);
    if (durable_waits_.empty()) return;
    expired = take_waits([&](const DurableWait& wait) { return wait.deadline < now; });
  }
  if (expired.empty()) return;
  const Error error{ErrorKind::timed_out, name_.to_string() + ": the disk did not answer in time"};
  for (DurableWait& wait : expired) wait.done(std::unexpected(error));
}

std::vector<Partition::DurableWait> Partition::take_finished(const Result<Offset>& durable, bool mirrored,
                                                             bool& more) {
  std::vector<DurableWait> finished;
  const std::scoped_lock lock(sync_mutex_);
  if (!durable) {
    finished = std::exchange(durable_waits_, {});
  } else if (mirrored) {
    finished = take_waits([&](const DurableWait& wait) { return wait.end <= *durable; });
  } else if (mirror_ != nullptr) {
    hold();
  }  // else mirroring was given up meanwhile, and the next sync does without
  more = !durable_waits_.empty() && !held_;
  set_sync_running(more);
  ++syncs_ended_;
  sync_ended_.notify_all();
  return finished;
}

// --- moving ------------------------------------------------------------------------------------------------

// With sync_mutex_ held. Counts as a sync that runs: waits still end at their deadlines.
void Partition::hold() {
  if (std::exchange(held_, true)) return;
  log_is_not_enough_.store(true, std::memory_order_release);
  set_sync_running(sync_running_);
}

void Partition::begin_mirroring(std::shared_ptr<Mirror> mirror) {
  std::unique_lock lock(sync_mutex_);
  mirror_ = std::move(mirror);
  log_is_not_enough_.store(true, std::memory_order_release);
  const uint64_t ended = syncs_ended_;
  sync_ended_.wait(lock, [&] { return !sync_running_ || syncs_ended_ != ended; });
}

void Partition::hold_acknowledgements() {
  std::unique_lock lock(sync_mutex_);
  hold();
  sync_ended_.wait(lock, [&] { return !sync_running_; });
}

void Partition::hold_for_good() {
  // Goes without the lock: it may be the last to know its move.
  std::shared_ptr<Mirror> mirror;
  const std::scoped_lock lock(sync_mutex_);
  hold();
  mirror.swap(mirror_);
}

void Partition::release_acknowledgements() {
  bool start = false;
  {
    const std::scoped_lock lock(sync_mutex_);
    mirror_ = nullptr;
    held_ = false;
    log_is_not_enough_.store(false, std::memory_order_release);
    start = !durable_waits_.empty() && !sync_running_;
    set_sync_running(sync_running_ || start);
  }
  if (start) start_sync();
}

void Partition::replace_log(std::shared_ptr<storage::Log> log) {
  const std::scoped_lock lock(sync_mutex_);
  logs_.push_back(log);
  log_.store(log.get(), std::memory_order_release);
}

}  // namespace barnabas::broker
