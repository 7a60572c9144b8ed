#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "storage/io_throttle.h"
#include "storage/log_compaction.h"
#include "storage/log_manager.h"
#include "storage/topic_partition.h"

namespace barnabas::storage {

/// Settings of the cleaner itself, with the defaults of Kafka 4.4; what concerns one log is in LogConfig.
struct CleanerSettings {
  bool enabled = true;                       ///< log.cleaner.enable
  int threads = 1;                           ///< log.cleaner.threads; 0: nothing is cleaned
  uint64_t dedupe_buffer_bytes = 128 << 20;  ///< log.cleaner.dedupe.buffer.size, of all threads together
  double load_factor = 0.9;                  ///< log.cleaner.io.buffer.load.factor
  uint64_t io_buffer_bytes = 512 << 10;      ///< log.cleaner.io.buffer.size, of all threads together
  /// log.cleaner.io.max.bytes.per.second, of all threads together, reading and writing
  double io_bytes_per_second = std::numeric_limits<double>::max();
  std::chrono::milliseconds backoff{15'000};  ///< log.cleaner.backoff.ms: when there was nothing to clean

  bool operator==(const CleanerSettings&) const = default;
};

/// Compacts the logs of a manager on threads of its own, the dirtiest first. A log that cannot be cleaned
/// because some of it is damaged is set aside, with a line in the broker's log, until it is made anew or the
/// process ends; a full disk is waited for. Threads: all methods may be called from any thread; those marked
/// "blocks" wait for a pass to end, which takes as long as one batch.
class LogCleaner {
 public:
  /// `wall` gives the time for horizons and lags. The manager must outlive it.
  LogCleaner(LogManager& logs, CleanerSettings settings, std::function<TimestampMs()> wall = wall_clock_now);
  ~LogCleaner();
  LogCleaner(const LogCleaner&) = delete;
  LogCleaner& operator=(const LogCleaner&) = delete;

  void start();
  /// Interrupts what runs and ends the threads. Before LogManager::shut_down. Blocks.
  void stop();
  /// New settings, at once: passes that run are interrupted and come again. Does not wait for them.
  void reconfigure(const CleanerSettings& settings);

  /// Interrupts a pass over this partition and keeps it from being cleaned, until as many calls of resume
  /// have come. The partition need not exist. Blocks until no pass runs.
  void abort_and_pause(const TopicPartition& name);
  void resume(const TopicPartition& name);

  /// Partitions that were set aside.
  std::vector<TopicPartition> uncleanable() const;

  /// Cleans whatever is worth it now, on the calling thread, until nothing is; how many passes there were.
  /// For tests, instead of start().
  std::size_t clean_now();

 private:
  struct Worker;
  struct Job {
    TopicPartition name;
    double ratio = 0;
  };
  struct Running {
    std::shared_ptr<const CleanerSettings> settings;
    bool on_thread = false;
    bool abort = false;
  };

  void start_missing();
  void run(int index);
  void work(std::unique_lock<std::mutex>& lock, const std::shared_ptr<const CleanerSettings>& settings);
  bool stopped(const CleanerSettings& settings) const;
  /// Chooses and begins a job; nothing: wait until next_round_.
  std::optional<TopicPartition> take_job(std::unique_lock<std::mutex>& lock, Instant now);
  void collect_jobs(std::unique_lock<std::mutex>& lock, Instant now);
  Result<CleaningNeed> need_of(const LogManager::Compactable& log) const;
  bool may_begin(const TopicPartition& name, Instant now) const;
  void clean(const TopicPartition& name, Worker& worker);
  bool go_on(Running& running, uint64_t bytes);
  void finished(const TopicPartition& name, const LogManager::Compactable& log,
                const Result<CleaningResult>& result);
  void failed(const TopicPartition& name, const LogManager::Compactable& log, const Error& error);
  void interrupted(const TopicPartition& name);
  void put_off(const TopicPartition& name);
  void begin(const TopicPartition& name);
  void end(const TopicPartition& name);

  LogManager& logs_;
  const std::function<TimestampMs()> wall_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const CleanerSettings> settings_;  ///< replaced as a whole: whoever has another one stops
  std::unique_ptr<IoThrottle> throttle_;
  bool started_ = false;
  bool collecting_ = false;
  std::vector<Job> jobs_;  ///< of this round, the dirtiest last
  Instant next_round_{};
  std::map<TopicPartition, std::shared_ptr<Running>> running_;
  std::map<TopicPartition, int> paused_;
  std::map<TopicPartition, Instant> put_off_;
  std::map<TopicPartition, std::weak_ptr<Log>> uncleanable_;

  std::mutex threads_mutex_;          ///< one starts or stops threads at a time; taken before mutex_
  std::vector<std::thread> threads_;  ///< as many as were ever wanted; the others sleep
};

}  // namespace barnabas::storage
