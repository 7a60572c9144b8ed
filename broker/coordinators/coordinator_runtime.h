#pragma once

#include <expected>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/coordinators/coordinator_thread.h"
#include "broker/coordinators/shard_host.h"
#include "io/disk_pool.h"

namespace barnabas::broker {

/// Runs the shards of one kind of coordinator: one for each partition of its topic that this broker leads, on
/// a few threads, each shard always on the same one. Shards are loaded in the background.
///
/// `Shard` is a pure state machine; coordinator/group_shard.h says what it has to have.
///
/// An answer of a shard goes out once all that it had appended when it decided is durable
/// (log.flush.before.ack=false: appended). A shard whose log is lost is forgotten, and loaded anew should the
/// log come back: nobody goes on with a state that tells of what may be gone.
template <class Shard>
class CoordinatorRuntime {
 public:
  using Work = std::move_only_function<coordinator::Decision(Shard&, const coordinator::Now&)>;
  using Refused = std::move_only_function<void(protocol::ErrorCode)>;

  /// `make` runs on any of its threads, with the newest metadata.
  CoordinatorRuntime(CoordinatorOptions options, typename ShardHost<Shard>::Make make)
      : options_(std::move(options)), make_(std::move(make)) {
    for (std::size_t i = 0; i < options_.threads; ++i) {
      Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
      worker.thread.emplace(options_.name + "-" + std::to_string(i),
                            [&worker] { return run_timers(worker); });
    }
    // As many may wait as there are partitions: one that was refused would never be loaded.
    loaders_.emplace(io::DiskPool::Options{.name = options_.name + "-load",
                                           .threads = options_.load_threads,
                                           .queue_max = std::numeric_limits<std::size_t>::max()});
    for (const auto& worker : workers_) worker->thread->start();
  }
  ~CoordinatorRuntime() { stop(); }
  CoordinatorRuntime(const CoordinatorRuntime&) = delete;
  CoordinatorRuntime& operator=(const CoordinatorRuntime&) = delete;

  /// Runs `work` with the shard of this partition, in the order of the calls, and carries out what it
  /// decides; or `refused`, with coordinator_load_in_progress, not_coordinator, or coordinator_not_available
  /// once it has stopped. On the shard's thread. From any thread.
  void schedule(PartitionIndex partition, Work work, Refused refused) {
    schedule(partition, {}, std::move(work), std::move(refused));
  }
  /// The same for records that belong to a transaction: `check` is how its producer stands in the log.
  void schedule(PartitionIndex partition, const storage::TransactionCheck& check, Work work,
                Refused refused) {
    with_host(
        partition, std::move(refused),
        [check, work = std::move(work)](ShardHost<Shard>& host, Refused&) mutable { host.run(work, check); });
  }

  using GuardOrError = std::expected<storage::VerificationGuard, protocol::ErrorCode>;
  /// See Partition::begin_verification, of the shard's log. `begun` runs on the shard's thread.
  void begin_verification(PartitionIndex partition, const storage::TransactionBegin& transaction,
                          std::move_only_function<void(GuardOrError)> begun) {
    auto shared = std::make_shared<std::move_only_function<void(GuardOrError)>>(std::move(begun));
    with_host(
        partition, [shared](protocol::ErrorCode error) { (*shared)(std::unexpected(error)); },
        [shared, transaction](ShardHost<Shard>& host, Refused&) {
          const auto guard = host.partition().begin_verification(transaction, wall_clock_now());
          (*shared)(guard ? GuardOrError(*guard) : std::unexpected(coordinator_error_of(guard.error().kind)));
        });
  }
  /// See Partition::refuse_verification.
  void refuse_verification(PartitionIndex partition, ProducerId producer, storage::VerificationGuard guard) {
    with_host(
        partition, [](protocol::ErrorCode) {},
        [producer, guard](ShardHost<Shard>& host, Refused&) {
          host.partition().refuse_verification(producer, guard);
        });
  }

  /// Has a transaction ended in the log of this shard. `done` is told none once that is durable; from any
  /// thread.
  void write_marker(PartitionIndex partition, const protocol::TransactionMarker& marker, Refused done) {
    with_host(partition, std::move(done), [marker](ShardHost<Shard>& host, Refused& told) {
      host.write_marker(marker, std::move(told));
    });
  }

  // --- one thread at a time calls these, in the order of the metadata
  // ------------------------------------------------------------

  /// To be called with each image, the first one before anything else.
  void metadata_changed(const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image) {
    const auto change = std::make_shared<const MetadataChange>(changes, image);
    for (const auto& worker : workers_)
      worker->thread->post([&worker = *worker, change](bool running) {
        if (!running) return;
        worker.image = change->image;
        for (const auto& [partition, host] : worker.hosts) host->metadata_changed(change);
      });
  }

  /// This broker leads the partition: its shard is loaded. With another epoch than before it is loaded anew
  /// if somebody else may have written meanwhile; with another topic in any case.
  void lead(PartitionIndex partition, const Leadership& leadership) {
    Worker& worker = worker_of(partition);
    worker.thread->post([this, &worker, partition, leadership](bool running) {
      if (!running) return;
      auto& host = worker.hosts[partition];
      if (host == nullptr)
        host = std::make_shared<ShardHost<Shard>>(
            partition, options_, make_,
            [this, &worker](auto work, auto done) { load(worker, std::move(work), std::move(done)); });
      host->lead(leadership, worker.image);
    });
  }

  /// It does not any more. Those who wait are answered with not_coordinator.
  void resign(PartitionIndex partition) {
    Worker& worker = worker_of(partition);
    worker.thread->post([&worker, partition](bool running) {
      const auto at = worker.hosts.find(partition);
      if (!running || at == worker.hosts.end()) return;
      at->second->unload();
      worker.hosts.erase(at);
    });
  }

  /// Answers all who wait, and ends the threads. What comes later is refused. Not from one of its threads.
  void stop() {
    for (const auto& worker : workers_) worker->thread->stop();
    for (const auto& worker : workers_) {
      for (const auto& [partition, host] : worker->hosts) host->unload();
      worker->hosts.clear();
    }
    loaders_->shut_down();
  }

 private:
  struct Worker {
    // Of the thread alone.
    std::map<PartitionIndex, std::shared_ptr<ShardHost<Shard>>> hosts;
    metadata::MetadataImagePtr image;
    std::optional<CoordinatorThread> thread;
  };

  /// Runs `use` with a shard that is ready, in the order of the calls, or tells `refused` why it is not.
  template <class Use>
  void with_host(PartitionIndex partition, Refused refused, Use use) {
    Worker& worker = worker_of(partition);
    worker.thread->post(
        [&worker, partition, refused = std::move(refused), use = std::move(use)](bool running) mutable {
          if (!running) return refused(protocol::ErrorCode::coordinator_not_available);
          const auto at = worker.hosts.find(partition);
          const auto unready =
              at == worker.hosts.end() ? protocol::ErrorCode::not_coordinator : at->second->readiness();
          if (unready != protocol::ErrorCode::none) return refused(unready);
          use(*at->second, refused);
        });
  }

  Worker& worker_of(PartitionIndex partition) {
    return *workers_[static_cast<std::size_t>(partition.value()) % workers_.size()];
  }

  static std::optional<Instant> run_timers(Worker& worker) {
    std::optional<Instant> next;
    for (const auto& [partition, host] : worker.hosts)
      if (const auto at = host->run_timers(); at && (!next || *at < *next)) next = at;
    return next;
  }

  void load(Worker& worker, std::move_only_function<void()> work, std::move_only_function<void()> done) {
    // Refused only once it stops: then nobody wants the shard any more.
    (void)loaders_->submit([&worker, work = std::move(work), done = std::move(done)]() mutable {
      work();
      worker.thread->post([done = std::move(done)](bool running) mutable {
        if (running) done();
      });
    });
  }

  const CoordinatorOptions options_;
  const typename ShardHost<Shard>::Make make_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<io::DiskPool> loaders_;
};

}  // namespace barnabas::broker
