#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "broker/topic_settings.h"
#include "broker/traffic.h"
#include "io/disk_pool.h"
#include "protocol/error_code.h"
#include "protocol/records/transaction_marker.h"
#include "storage/log.h"
#include "storage/topic_partition.h"

namespace barnabas::broker {

/// About how much more can be read in a partition.
struct Progress {
  uint64_t bytes = 0;            ///< below the high watermark
  uint64_t committed_bytes = 0;  ///< below the last stable offset; a marker can set free any amount
};

/// Somebody who waits for more to read in a partition (a long-polling fetch).
class ProgressWaiter {
 public:
  virtual ~ProgressWaiter() = default;
  /// There is more to read, or there was an end to it. From any thread, without locks of the partition held;
  /// must not block.
  virtual void on_progress(const Progress& progress) = 0;
};

class Partition;

/// The partitions in which somebody waits for the disk: few, however many there are. Thread-safe.
class WaitingPartitions {
 public:
  void add(std::shared_ptr<Partition> partition);
  void remove(const std::shared_ptr<Partition>& partition);
  /// Ends the waits whose deadline is before `now` (Partition::expire_waits). To be called now and then.
  void expire(Instant now);
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_set<std::shared_ptr<Partition>> partitions_;
};

/// A second place where everything that is acknowledged has to be, while a partition is about to move there.
class Mirror {
 public:
  virtual ~Mirror() = default;
  /// Returns once everything below `end`, and the log start, is durable there. On a thread of the disk pool.
  virtual Result<void> follow(Offset end) = 0;
};

/// What a partition needs of its surroundings.
struct PartitionServices {
  io::DiskPool& disk_pool;
  /// A log met an error that may concern its whole directory.
  std::function<void(const storage::TopicPartition&, const Error&)> report_failure;
  /// log.flush.before.ack
  bool flush_before_ack = true;
  /// Those whose sync is under way; while there is none, nobody waits for one.
  WaitingPartitions waiting = {};
  BrokerTraffic traffic = {};
};

/// One partition that this broker leads: its log, and who waits for it.
///
/// High watermark (one replica): what acks=0 and acks=1 appended is visible at once, as in Kafka. What
/// acks=all appended becomes visible when it is on disk, so that nothing is shown that a power cut could
/// still take back, unless flush_before_ack is off. It never falls.
///
/// All methods may be called from any thread; none blocks on a device except where noted in Log.
class Partition : public std::enable_shared_from_this<Partition> {
 public:
  Partition(storage::TopicPartition name, Uuid topic_id, std::shared_ptr<storage::Log> log,
            LeaderEpoch leader_epoch, std::shared_ptr<const TopicSettings> settings,
            PartitionServices& services);

  const storage::TopicPartition& name() const { return name_; }
  const Uuid& topic_id() const { return topic_id_; }
  /// The log at this moment. It is another one after a move to another directory; one that was given out
  /// stays readable, and answers changes with ErrorKind::closed then. Changes go through the methods below,
  /// which know that.
  storage::Log& log() const { return *log_.load(std::memory_order_acquire); }
  LeaderEpoch leader_epoch() const { return LeaderEpoch{leader_epoch_.load(std::memory_order_acquire)}; }
  void set_leader_epoch(LeaderEpoch epoch);
  /// What a client that claims to know the leader by this epoch is answered; -1 claims nothing (KIP-320).
  protocol::ErrorCode check_leader_epoch(LeaderEpoch claimed) const;

  std::shared_ptr<const TopicSettings> settings() const {
    const std::scoped_lock lock(settings_mutex_);
    return settings_;
  }
  void set_settings(std::shared_ptr<const TopicSettings> settings);

  /// False once the topic is deleted or the log directory is lost; the object then only answers errors.
  bool active() const { return active_.load(std::memory_order_acquire); }
  /// Wakes everybody who waits; waits for durability end with `error`.
  void deactivate(const Error& error);

  /// Appends one validated batch. `wait_for_disk`: acks=all.
  Result<storage::AppendResult> append(MutableByteView batch, bool wait_for_disk, TimestampMs now,
                                       storage::AppendOrigin origin = storage::AppendOrigin::client,
                                       const storage::TransactionCheck& transaction = {});

  /// Before the first batch of a transaction is appended: the guard to append with once the coordinator has
  /// agreed, or no_guard if nobody has to be asked (see ProducerState). invalid_producer_epoch, offline.
  Result<storage::VerificationGuard> begin_verification(const storage::TransactionBegin& batch,
                                                        TimestampMs now);
  /// The coordinator refused for good.
  void refuse_verification(ProducerId id, storage::VerificationGuard guard);

  /// Ends a producer's transaction here. As acks=all: readers see it once it is on disk.
  /// invalid_producer_epoch, or coordinator_fenced for an older coordinator.
  Result<storage::AppendResult> append_marker(const protocol::TransactionMarker& marker, TimestampMs now);

  /// Log::delete_records_before, and tells those who wait.
  Result<Offset> delete_records_before(Offset offset);

  using DurableDone = std::move_only_function<void(const Result<void>&)>;
  /// Calls `done` once everything below `end` is on disk, or the sync failed. One sync serves all that wait.
  /// `done` runs inside this call when nothing has to be waited for, else on a thread of the disk pool, or on
  /// that of expire_waits when `deadline` passed before.
  void when_durable(Offset end, Instant deadline, DurableDone done);
  /// Ends waits for durability whose deadline is before `now` with ErrorKind::timed_out: a device that hangs
  /// must not keep producers waiting for ever. What they wait for may still become durable.
  void expire_waits(Instant now);
  /// Whether an append with acks=all has to wait at all.
  bool flush_before_ack() const { return services_.flush_before_ack; }

  /// Counts for this partition and for all together. Appends are counted by append.
  void count(Traffic what, uint64_t amount) {
    traffic_.count(what, amount);
    services_.traffic.count(what, amount);
  }
  const PartitionTraffic& traffic() const { return traffic_; }

  Offset high_watermark() const { return Offset{high_watermark_.load(std::memory_order_acquire)}; }
  Offset last_stable_offset() { return log().last_stable_offset(high_watermark()); }

  // --- moving to another log directory; one mover at a time
  // --------------------------------------------------

  /// From now on what is durable is acknowledged only once the mirror has it too. Returns when no sync that
  /// began earlier runs any more; blocks as long as the device takes. When the mirror fails, acknowledgements
  /// are held.
  void begin_mirroring(std::shared_ptr<Mirror> mirror);
  /// Nothing is synced or acknowledged until release_acknowledgements. Waits for a sync that runs. Blocks.
  void hold_acknowledgements();
  /// Ends holding and mirroring.
  void release_acknowledgements();
  /// The broker stops in the middle of a move: lets the mirror go, and acknowledges nothing any more.
  void hold_for_good();
  /// Another log with the same content, which has just taken over. To be called by whoever locks out appends.
  void replace_log(std::shared_ptr<storage::Log> log);

  using WaiterHandle = std::list<std::weak_ptr<ProgressWaiter>>::iterator;
  /// Registers a waiter if the high watermark still is `seen` and the partition is active; otherwise false,
  /// and the waiter should look again at once. A registered one must be removed by its handle.
  bool add_waiter(const std::shared_ptr<ProgressWaiter>& waiter, Offset seen, WaiterHandle& handle);
  void remove_waiter(WaiterHandle handle);

 private:
  struct DurableWait {
    Offset end;
    Instant deadline;
    DurableDone done;
  };
  void raise_high_watermark(Offset to);
  void announce_progress();
  Progress progress_since_announced();
  void tell_waiters(const Progress& progress);
  /// Takes out what `finished` says is finished.
  template <class Predicate>
  std::vector<DurableWait> take_waits(Predicate finished);
  void set_sync_running(bool running);
  void hold();
  void start_sync();
  void run_sync();
  std::vector<DurableWait> take_finished(const Result<Offset>& durable, bool mirrored, bool& more);
  /// Calls `change` with the log until it got one that is still the partition's afterwards.
  template <class Change>
  auto change_log(Change change);

  const storage::TopicPartition name_;
  const Uuid topic_id_;
  std::atomic<storage::Log*> log_;
  PartitionServices& services_;
  std::atomic<int32_t> leader_epoch_;
  // Not std::atomic<std::shared_ptr>: in g++ 12 its load races with its store.
  mutable std::mutex settings_mutex_;
  std::shared_ptr<const TopicSettings> settings_;
  std::atomic<bool> active_{true};
  std::atomic<int64_t> high_watermark_;
  std::atomic<uint64_t> appended_bytes_{0};
  PartitionTraffic traffic_;
  std::atomic<int64_t> guards_given_{storage::no_guard.value()};

  std::mutex sync_mutex_;
  std::vector<DurableWait> durable_waits_;
  bool sync_running_ = false;
  bool held_ = false;
  bool is_waiting_ = false;  ///< among services_.waiting: a sync runs, or acknowledgements are held
  uint64_t syncs_ended_ = 0;
  std::condition_variable sync_ended_;
  std::shared_ptr<Mirror> mirror_;
  /// What is durable in the log is not all that an acknowledgement needs: held_, or there is a mirror_.
  std::atomic<bool> log_is_not_enough_{false};
  /// All logs that log_ ever was: whoever asked for one may still read it. A log that was left is small.
  std::vector<std::shared_ptr<storage::Log>> logs_;

  std::mutex waiter_mutex_;
  std::list<std::weak_ptr<ProgressWaiter>> waiters_;
  // What those who wait know.
  uint64_t announced_bytes_ = 0;
  Offset announced_high_watermark_{0};
  Offset announced_stable_{0};
  std::atomic<std::size_t> waiter_count_{0};
};

}  // namespace barnabas::broker
