#include "storage/log_cleaner.h"

#include <algorithm>

#include "base/assert.h"
#include "base/log.h"

namespace barnabas::storage {
namespace {

constinit Logger log_{"storage"};

/// Never (2^63 - 1 ms) must stay a duration that can be added to a time.
constexpr std::chrono::milliseconds backoff_max{int64_t{1} << 40};

}  // namespace

/// What one thread works with, as long as the settings stay as they are.
struct LogCleaner::Worker {
  explicit Worker(const CleanerSettings& settings)
      : keys(std::min<uint64_t>(settings.dedupe_buffer_bytes / threads(settings), INT32_MAX),
             settings.load_factor),
        // One half is for reading, the other for writing.
        buffer_bytes(static_cast<std::size_t>(
            std::max<uint64_t>(settings.io_buffer_bytes / threads(settings) / 2, 1'024))) {}

  static uint64_t threads(const CleanerSettings& settings) {
    return static_cast<uint64_t>(std::max(settings.threads, 1));
  }

  OffsetMap keys;
  const std::size_t buffer_bytes;
};

LogCleaner::LogCleaner(LogManager& logs, CleanerSettings settings, std::function<TimestampMs()> wall)
    : logs_(logs),
      wall_(std::move(wall)),
      settings_(std::make_shared<const CleanerSettings>(settings)),
      throttle_(std::make_unique<IoThrottle>(settings.io_bytes_per_second)) {}

LogCleaner::~LogCleaner() {
  stop();
}

// --- threads -----------------------------------------------------------------------------------------------

void LogCleaner::start() {
  const std::lock_guard threads_guard(threads_mutex_);
  const std::lock_guard guard(mutex_);
  started_ = true;
  start_missing();
}

// With both mutexes held.
void LogCleaner::start_missing() {
  if (!started_ || !settings_->enabled) return;
  for (int index = static_cast<int>(threads_.size()); index < settings_->threads; ++index)
    threads_.emplace_back([this, index] { run(index); });
}

void LogCleaner::stop() {
  const std::lock_guard threads_guard(threads_mutex_);
  {
    const std::lock_guard guard(mutex_);
    started_ = false;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void LogCleaner::reconfigure(const CleanerSettings& settings) {
  const std::lock_guard threads_guard(threads_mutex_);
  const std::lock_guard guard(mutex_);
  if (settings == *settings_) return;
  settings_ = std::make_shared<const CleanerSettings>(settings);
  throttle_ = std::make_unique<IoThrottle>(settings.io_bytes_per_second);
  next_round_ = {};
  put_off_.clear();
  changed_.notify_all();
  start_missing();
}

// With mutex_ held.
bool LogCleaner::stopped(const CleanerSettings& settings) const {
  return !started_ || settings_.get() != &settings;
}

void LogCleaner::run(int index) {
  std::unique_lock lock(mutex_);
  while (started_) {
    const auto settings = settings_;
    if (settings->enabled && index < settings->threads)
      work(lock, settings);
    else
      changed_.wait(lock, [&] { return stopped(*settings); });
  }
}

void LogCleaner::work(std::unique_lock<std::mutex>& lock,
                      const std::shared_ptr<const CleanerSettings>& settings) {
  Worker worker(*settings);
  while (!stopped(*settings)) {
    const auto name = take_job(lock, std::chrono::steady_clock::now());
    if (!name) {
      changed_.wait_until(lock, next_round_, [&] { return stopped(*settings) || !jobs_.empty(); });
      continue;
    }
    lock.unlock();
    clean(*name, worker);
    lock.lock();
  }
}

std::size_t LogCleaner::clean_now() {
  std::unique_lock lock(mutex_);
  Worker worker(*settings_);
  next_round_ = {};
  put_off_.clear();
  std::size_t passes = 0;
  while (const auto name = take_job(lock, std::chrono::steady_clock::now())) {
    lock.unlock();
    clean(*name, worker);
    ++passes;
    lock.lock();
  }
  return passes;
}

// --- choosing ----------------------------------------------------------------------------------------------

std::optional<TopicPartition> LogCleaner::take_job(std::unique_lock<std::mutex>& lock, Instant now) {
  if (jobs_.empty() && now >= next_round_) {
    if (collecting_) {  // another thread does
      next_round_ = now + std::chrono::milliseconds(10);
      return std::nullopt;
    }
    collect_jobs(lock, now);
  }
  while (!jobs_.empty()) {
    const TopicPartition name = std::move(jobs_.back().name);
    jobs_.pop_back();
    if (!may_begin(name, now)) continue;
    begin(name);
    return name;
  }
  return std::nullopt;
}

bool LogCleaner::may_begin(const TopicPartition& name, Instant now) const {
  if (running_.contains(name) || paused_.contains(name)) return false;
  const auto later = put_off_.find(name);
  return later == put_off_.end() || later->second <= now;
}

// A round's jobs in one go: to look at all logs again for each single one would be quadratic.
void LogCleaner::collect_jobs(std::unique_lock<std::mutex>& lock, Instant now) {
  collecting_ = true;
  std::erase_if(uncleanable_, [](const auto& one) { return one.second.expired(); });
  std::erase_if(put_off_, [&](const auto& one) { return one.second <= now; });
  std::map<TopicPartition, std::weak_ptr<Log>> uncleanable = uncleanable_;
  lock.unlock();
  std::vector<Job> jobs;
  for (const TopicPartition& name : logs_.compaction_candidates()) {
    const auto log = logs_.compactable(name);
    if (!log) continue;
    if (const auto aside = uncleanable.find(name);
        aside != uncleanable.end() && aside->second.lock() == log->log)
      continue;
    const auto need = need_of(*log);
    if (!need) {
      failed(name, *log, need.error());
    } else if (need->worth_it(*log->log->config())) {
      jobs.push_back({name, need->ratio()});
    }
  }
  std::ranges::stable_sort(jobs, {}, &Job::ratio);
  lock.lock();
  collecting_ = false;
  std::erase_if(jobs, [&](const Job& job) { return !may_begin(job.name, now); });
  jobs_ = std::move(jobs);
  // After a round with work comes the next one at once: not all of a log may have fitted into the map.
  next_round_ = jobs_.empty() ? now + std::min(settings_->backoff, backoff_max) : now;
  changed_.notify_all();
}

Result<CleaningNeed> LogCleaner::need_of(const LogManager::Compactable& log) const {
  return log.log->cleaning_need(wall_(), log.high_watermark);
}

// --- cleaning ----------------------------------------------------------------------------------------------

// With mutex_ held.
void LogCleaner::begin(const TopicPartition& name) {
  running_.emplace(name, std::make_shared<Running>(Running{settings_, started_}));
}

void LogCleaner::end(const TopicPartition& name) {
  running_.erase(name);
  changed_.notify_all();
}

// New settings, and the end of a pause, let it begin again at once; what other work on the log stopped waits.
void LogCleaner::interrupted(const TopicPartition& name) {
  {
    const std::lock_guard guard(mutex_);
    const Running& running = *running_.at(name);
    if (running.abort || settings_ != running.settings) return;
  }
  put_off(name);
}

void LogCleaner::put_off(const TopicPartition& name) {
  const std::lock_guard guard(mutex_);
  put_off_[name] = std::chrono::steady_clock::now() + std::min(settings_->backoff, backoff_max);
}

void LogCleaner::clean(const TopicPartition& name, Worker& worker) {
  std::shared_ptr<Running> running;
  {
    const std::lock_guard guard(mutex_);
    running = running_.at(name);
  }
  if (const auto log = logs_.compactable(name)) {
    const auto need = need_of(*log);
    if (!need) {
      failed(name, *log, need.error());
    } else if (need->worth_it(*log->log->config())) {
      CleaningTools tools{.keys = worker.keys,
                          .read_buffer_bytes = worker.buffer_bytes,
                          .write_buffer_bytes = worker.buffer_bytes};
      tools.go_on = [&](uint64_t bytes) { return go_on(*running, bytes); };
      tools.before_replacing = [&] { return logs_.checkpoint_recovery_point(name); };
      finished(name, *log, log->log->clean(*need, tools, wall_()));
    }
  }
  const std::lock_guard guard(mutex_);
  end(name);
}

bool LogCleaner::go_on(Running& running, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const auto ended = [&] {
    return running.abort || settings_ != running.settings || started_ != running.on_thread;
  };
  const auto wait = throttle_->charge(bytes, std::chrono::steady_clock::now());
  return !changed_.wait_for(lock, wait, ended);
}

void LogCleaner::finished(const TopicPartition& name, const LogManager::Compactable& log,
                          const Result<CleaningResult>& result) {
  if (!result) return failed(name, log, result.error());
  logs_.note_compacted(name, std::chrono::steady_clock::now());
  if (result->interrupted) return interrupted(name);
  log_.info("log compacted partition={} up_to={} keys={} bytes={} of={} segments={} of={}{}",
            name.to_string(), result->cleaned_to.value(), result->keys, result->bytes_after,
            result->bytes_before, result->segments_after, result->segments_before,
            result->map_was_full ? " (the key map is full, the rest follows)" : "");
}

void LogCleaner::failed(const TopicPartition& name, const LogManager::Compactable& log, const Error& error) {
  logs_.report(name, error);
  switch (error.kind) {
    case ErrorKind::closed:
    case ErrorKind::offline:
    case ErrorKind::io:
      return put_off(name);
    case ErrorKind::no_space:
      log_.warn("not compacted, no space, will try again partition={} reason=\"{}\"", name.to_string(),
                error.message);
      return put_off(name);
    default:
      break;
  }
  log_.error(
      "log cannot be compacted and is set aside; it grows until it is repaired and the broker restarted "
      "partition={} reason=\"{}\"",
      name.to_string(), error.message);
  const std::lock_guard guard(mutex_);
  uncleanable_[name] = log.log;
}

// --- excluding ---------------------------------------------------------------------------------------------

void LogCleaner::abort_and_pause(const TopicPartition& name) {
  std::unique_lock lock(mutex_);
  ++paused_[name];
  if (const auto running = running_.find(name); running != running_.end()) running->second->abort = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !running_.contains(name); });
}

void LogCleaner::resume(const TopicPartition& name) {
  const std::lock_guard guard(mutex_);
  const auto paused = paused_.find(name);
  BARNABAS_ASSERT(paused != paused_.end());
  if (--paused->second > 0) return;
  paused_.erase(paused);
  put_off_.erase(name);
}

std::vector<TopicPartition> LogCleaner::uncleanable() const {
  const std::lock_guard guard(mutex_);
  std::vector<TopicPartition> names;
  for (const auto& [name, log] : uncleanable_)
    if (!log.expired()) names.push_back(name);
  return names;
}

}  // namespace barnabas::storage
